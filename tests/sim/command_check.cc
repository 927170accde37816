// SPDX-License-Identifier: MIT
//
// redlock_command_check SOCKET [COUNT [SEED]]: are the simulated keys (keyspace.h) and the
// simulated Lua (interpreter.h) those of a real server? Random commands, alone and from a script,
// to the Redis server on a Unix socket and to the simulator. The database is flushed.
//
// Exit status: 0 no difference, 1 a difference, 64 usage, 69 no server.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <initializer_list>
#include <map>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "interpreter.h"
#include "keyspace.h"
#include "random.h"
#include "redis/wire/resp.h"

namespace {

using namespace redlock;
using redis::Value;
using Type = Value::Type;
using Texts = std::vector<std::string>;

constexpr std::int64_t kMostApart = 3000;  // ms, of two times to live

constexpr std::string_view kByScript = "return redis.pcall(unpack(ARGV))";
constexpr std::string_view kRaising = "return redis.call(unpack(ARGV))";

/// What scripts return, and how numbers and errors pass between Lua and RESP.
constexpr std::string_view kConversions[] = {
    "return 3.99",
    "return -3.99",
    "return {1,2,nil,4}",
    "return {1,false,'x',{err='E x'},{ok='K'},{2.5,{'deep'}}}",
    "return redis.error_reply('MINE err')",
    "return redis.status_reply('fine')",
    "return true",
    "return false",
    "return {}",
    "return ''",
    "error('mine')",
    "return {redis.call('SET',KEYS[1],1.5),redis.call('GET',KEYS[1])}",
    "return {redis.call('SET',KEYS[1],2^40),redis.call('GET',KEYS[1])}",
    "return {type(redis.call('GET',KEYS[2])),type(redis.pcall('HGET',KEYS[1],'x').err)}",
    "redis.call('SET',KEYS[1],'before') redis.call('HGET',KEYS[1],'x') return 1",
    "return redis.call('GET',KEYS[1])",
    "return {tostring(tonumber('inf')==math.huge),string.format('%.0f',2^53),'1'+1,10/2}",
    "return {string.match('revoked:shared:x {y}','^revoked:(shared:%S+)(.*)')}",
    "return redis.pcall('SET',KEYS[1],true).err~=nil",
    "return redis.call('TYPE',KEYS[1]).ok",
    "local t=redis.call('TIME') return type(t[1])..#t[2]",
};

/// The commands. What begins with $ is one of its choices.
constexpr const char* kForms[] = {"GET $key",
                                  "SET $key $text",
                                  "SET $key $text PX $life",
                                  "SET $key $text nx px 60000",
                                  "DEL $key $key",
                                  "TYPE $key",
                                  "STRLEN $key",
                                  "GETRANGE $key $index $index",
                                  "PTTL $key",
                                  "PEXPIRE $key $life",
                                  "HGET $key $field",
                                  "HMGET $key $field $field",
                                  "HSET $key $field $text",
                                  "HSET $key $field $text $field $text",
                                  "HDEL $key $field $field",
                                  "UNLINK $key $key",
                                  "HSTRLEN $key $field",
                                  "ZADD $key $score $field",
                                  "ZADD $key NX $score $field",
                                  "ZADD $key XX $score $field",
                                  "ZREM $key $field $field",
                                  "ZSCORE $key $field",
                                  "ZRANK $key $field",
                                  "ZCARD $key",
                                  "ZRANGE $key $index $index WITHSCORES",
                                  "ZRANGE $key $index $index",
                                  "ZRANGEBYSCORE $key $limit $limit LIMIT $index $index",
                                  "ZRANGEBYSCORE $key $limit $limit WITHSCORES",
                                  "$any $key"};
const std::map<std::string, Texts> kChoices = {
    {"$key", {"k1", "k1", "k2", "k3", "k4"}},
    {"$field", {"a", "b", "", "mark:a", "fence:abc", "c"}},
    {"$text", {"", "1", "shared:abc", "revoked:abc {}", "0123456789"}},
    {"$score", {"1", "2", "-3", "1800000000000", "inf", "2.5", "1e3", "x", "", "9007199254740993"}},
    {"$limit", {"-inf", "+inf", "(1", "2", "(1800000000000", "(inf", "x"}},
    {"$index", {"0", "1", "-1", "7", "-2", "-9", "1023", "x"}},
    {"$life", {"60000", "90000", "2", "0", "-5", "x", "1.5"}},
    {"$any", {"GET", "ZADD", "HSET", "PUBLISH", "SET", "TIME", "NOSUCH"}}};

/// A blocking connection to a Redis server on a Unix socket. Every function throws
/// std::runtime_error.
class RealServer {
 public:
  explicit RealServer(const std::string& path)
      : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) throw std::runtime_error("the path is too long");
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    if (::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      throw std::runtime_error(path + ": " + std::strerror(errno));
    }
  }
  ~RealServer() { ::close(fd_); }
  RealServer(const RealServer&) = delete;
  RealServer& operator=(const RealServer&) = delete;

  Value command(std::span<const std::string_view> words) {
    std::string wire;
    redis::append_command(wire, words);
    const auto size = static_cast<ssize_t>(wire.size());
    if (::send(fd_, wire.data(), wire.size(), MSG_NOSIGNAL) != size) broke();
    char chunk[4096];
    while (true) {
      if (auto value = parser_.next()) return *value;
      const ssize_t n = ::recv(fd_, chunk, sizeof chunk, 0);
      if (n <= 0) broke();
      parser_.feed({chunk, static_cast<std::size_t>(n)});
    }
  }
  Value command(std::initializer_list<std::string_view> words) {
    return command(std::span(words.begin(), words.size()));
  }
  /// What its clock shows.
  std::int64_t time_ms() {
    const Value time = command({"TIME"});
    return std::stoll(time.elements.at(0).text) * 1000 +
           std::stoll(time.elements.at(1).text) / 1000;
  }

 private:
  [[noreturn]] static void broke() { throw std::runtime_error("the connection broke"); }

  int fd_;
  redis::ReplyParser parser_;
};

class Check {
 public:
  Check(const char* socket, std::uint64_t seed) : server_(socket), random_(seed) {
    server_.command({"FLUSHALL"});
  }

  bool conversions() {
    for (const std::string_view script : kConversions) {
      if (!compare({"EVAL", std::string(script), "2", "k1", "missing"})) return false;
    }
    server_.command({"FLUSHALL"});
    keys_.clear();
    return true;
  }

  bool command() {
    Texts words = draw();
    const std::uint32_t how = random_.below(3);
    if (how > 0) {
      words.insert(words.begin(), {"EVAL", std::string(how == 1 ? kByScript : kRaising), "0"});
    }
    if (!compare(words)) return false;
    // A key with a short life is over.
    if (std::ranges::find(words, "2") != words.end()) ::usleep(4000);
    return true;
  }

 private:
  template <class All>
  auto one_of(const All& all) {
    return std::string(all[random_.index(std::size(all))]);
  }

  Texts draw() {
    Texts words;
    std::istringstream form(one_of(kForms));
    for (std::string word; form >> word;) {
      const auto choice = kChoices.find(word);
      words.push_back(choice == kChoices.end() ? word : one_of(choice->second));
    }
    return words;
  }

  bool compare(const Texts& words) {
    const std::vector<std::string_view> views(words.begin(), words.end());
    keys_.set_now(server_.time_ms());
    const Value real = server_.command(views);
    const Value ours = run(views);
    if (is_same(real, ours)) return true;
    std::string command;
    for (const std::string& word : words) command += ' ' + (word.empty() ? "''" : word);
    std::printf("after %zu commands:%s\n  the server: %s\n  we: %s\n", count_, command.c_str(),
                show(real).c_str(), show(ours).c_str());
    return false;
  }

  /// A script passes every reply on as it is.
  Value run(sim::Words words) {
    ++count_;
    if (words[0] != "EVAL") return interpreter_.eval(keys_, kByScript, {}, words);
    const std::size_t keys = words[2] == "2" ? 2 : 0;
    return interpreter_.eval(keys_, words[1], words.subspan(3, keys), words.subspan(3 + keys));
  }

  /// Of errors only the first word: the wording differs between versions.
  static bool is_same(const Value& a, const Value& b) {
    if (a.type != b.type || a.elements.size() != b.elements.size()) return false;
    if (a.type == Type::error) {
      return a.text.substr(0, a.text.find(' ')) == b.text.substr(0, b.text.find(' '));
    }
    if (a.type == Type::integer && a.integer != b.integer) {
      return a.integer > kMostApart && std::abs(a.integer - b.integer) <= kMostApart;
    }
    if (a.type != Type::array && a.text != b.text) return false;
    return std::ranges::equal(a.elements, b.elements, is_same);
  }

  static std::string show(const Value& value) {
    if (value.type == Type::integer) return std::to_string(value.integer);
    if (value.type == Type::nil) return "(nil)";
    if (value.type != Type::array)
      return (value.type == Type::error ? "(error) " : "") + value.text;
    std::string all = "[";
    for (const Value& each : value.elements) all += show(each) + ", ";
    return all + "]";
  }

  RealServer server_;
  sim::Random random_;
  sim::Keyspace keys_;
  sim::Interpreter interpreter_;
  std::size_t count_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: redlock_command_check SOCKET [COUNT [SEED]]\n", stderr);
    return 64;
  }
  const std::uint64_t count = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 20'000;
  const std::uint64_t seed = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1;
  try {
    Check check(argv[1], seed);
    if (!check.conversions()) return 1;
    for (std::uint64_t number = 0; number < count; ++number) {
      if (!check.command()) return 1;
    }
    std::printf("%llu commands: the same replies\n", static_cast<unsigned long long>(count));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "redlock_command_check: %s\n", error.what());
    return 69;
  }
}
