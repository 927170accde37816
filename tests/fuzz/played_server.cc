// SPDX-License-Identifier: MIT
#include "played_server.h"

#include "interpreter.h"
#include "lock/value.h"
#include "redis/requests/keys.h"
#include "redis/requests/scripts.h"

namespace redlock::fuzz {

using namespace std::chrono_literals;
using lock::Instant;

namespace {

constexpr std::string_view kGranted = "granted";

/// What servers answer at other times, and what no server of ours does.
constexpr std::string_view kReplies[] = {
    "*6\r\n$7\r\ngranted\r\n$3\r\nabc\r\n:9\r\n$4\r\nnone\r\n$1\r\n7\r\n$13\r\n1795172400000\r\n",
    "*1\r\n$7\r\ngranted\r\n",
    "*8\r\n$7\r\nrefused\r\n$1\r\nx\r\n:500\r\n$0\r\n\r\n$1\r\n0\r\n$1\r\n0\r\n:0\r\n:0\r\n",
    "*8\r\n$4\r\nturn\r\n$1\r\nx\r\n:0\r\n$0\r\n\r\n$1\r\n0\r\n$1\r\n5\r\n:1\r\n:2\r\n",
    "*4\r\n$4\r\ndone\r\n:10\r\n:20\r\n$2\r\n{}\r\n",
    "*4\r\n$10\r\nsuperseded\r\n$1\r\n9\r\n:10\r\n$2\r\n{}\r\n",
    "*2\r\n$5\r\nfresh\r\n:1\r\n",
    "*2\r\n$7\r\nreplica\r\n$10\r\n10.0.0.1:1\r\n",
    "*2\r\n$8\r\nunusable\r\n$1\r\nx\r\n",
    "*1\r\n$9\r\ncommitted\r\n",
    "*2\r\n$13\r\nnot_committed\r\n$16\r\n9007199254740992\r\n",
    "*1\r\n$7\r\nrenewed\r\n",
    "*2\r\n$7\r\nrenewed\r\n:1\r\n",
    "*1\r\n$7\r\nmissing\r\n",
    "*2\r\n$8\r\nnot_mine\r\n$1\r\nx\r\n",
    "*1\r\n$8\r\nreleased\r\n",
    "*1\r\n$7\r\ncooling\r\n",
    "*1\r\n$4\r\nkept\r\n",
    "*1\r\n$6\r\nmarked\r\n",
    "*4\r\n$7\r\nrevoked\r\n:0\r\n$0\r\n\r\n:1\r\n",
    "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$4\r\nfree\r\n",
    "-NOAUTH Authentication required.\r\n",
    "-NOPERM this user has no permissions\r\n",
    "-NOSCRIPT No matching script.\r\n",
    "-LOADING Redis is loading the dataset in memory\r\n",
    "-READONLY You can't write against a read only replica.\r\n",
    "-OOM command not allowed when used memory > 'maxmemory'.\r\n",
    "-BUSY Redis is busy running a script.\r\n",
    "-MOVED 1 10.0.0.1:6379\r\n",
    "-ASK 1 10.0.0.1:6379\r\n",
    "-TRYAGAIN\r\n",
    "-CLUSTERDOWN Hash slot not served\r\n",
    "$-1\r\n",
    "*-1\r\n",
    "*0\r\n",
    "+OK\r\n",
    ":9223372036854775807\r\n",
    ":-9223372036854775808\r\n",
    "*1\r\n$4\r\nheld\r\n"};
constexpr std::string_view kMessages[] = {"free",     "next",       "cools 5", "released",
                                          "unlocked", "revoked {}", "",        "x"};

/// The script that has this hash; empty: there is none.
std::string_view script_of(std::string_view hash) {
  namespace scripts = redis::scripts;
  for (const redis::Script* each :
       {&scripts::acquire, &scripts::acquire_newest, &scripts::acquire_shared,
        &scripts::acquire_slot, &scripts::hand_on}) {
    if (each->sha1[0] == hash) return each->text;
  }
  return {};
}

redis::Value text(std::string_view content) {
  return {.type = redis::Value::Type::string, .text = std::string(content)};
}

}  // namespace

void PlayedServer::begin(std::size_t index, bool lies, bool knows_scripts, std::int64_t up_s) {
  port_.reset();
  streams_.clear();
  keys_.clear();
  keys_.set_keys({});
  keys_.identity = {"run" + std::to_string(index), kStartMs - up_s * 1000};
  keys_.publish = [this](std::string_view channel, std::string_view message) {
    return publish(channel, message);
  };
  lies_ = lies;
  knows_scripts_ = knows_scripts;
  said_granted_ = false;
  paused_until_ = kStart;
}

bool PlayedServer::turn(Instant now, Bytes& script) {
  if (now < paused_until_) return false;
  bool moved = port_.turn();
  keys_.set_now(ms(now));
  std::deque<Connection>& ends = port_.connections();
  while (streams_.size() < ends.size()) streams_.emplace_back();
  for (std::size_t i = 0; i < ends.size(); ++i) {
    if (!ends[i].received.empty()) {
      streams_[i].commands->feed(std::exchange(ends[i].received, {}));
      while (const auto command = streams_[i].commands->next()) {
        reply(i, execute(i, command->elements), now, script);
      }
    }
    moved = send_due(i, now) || moved;
  }
  return moved;
}

Instant PlayedServer::deadline(Instant now) const {
  if (now < paused_until_) return paused_until_;
  Instant earliest = lock::kNever;
  for (const Stream& each : streams_) {
    if (!each.out.empty()) earliest = std::min(earliest, each.out.front().due);
  }
  return earliest;
}

bool PlayedServer::has(const std::string& token, Instant now) const {
  if (lies_) return said_granted_;
  const sim::Keyspace::Key* const key = keys_.look("L", ms(now));
  if (key == nullptr) return false;
  if (!lock::is_of_reader(token)) return key->text == token;
  const sim::Keyspace::Key* const list = keys_.look(redis::helper_key("L", "readers"), ms(now));
  return list != nullptr && std::ranges::any_of(list->members, [&](const auto& member) {
           return member.name == token && member.score > static_cast<double>(ms(now));
         });
}

redis::Value PlayedServer::execute(std::size_t stream, const std::vector<redis::Value>& command) {
  std::vector<std::string_view> words;
  for (const redis::Value& word : command) words.push_back(word.text);
  if (words.empty()) return {.type = redis::Value::Type::error, .text = "ERR unknown command"};
  if (words[0] == "SUBSCRIBE" && words.size() == 2) {
    streams_[stream].channels.emplace(words[1]);
    return {.type = redis::Value::Type::array,
            .elements = {text("subscribe"),
                         text(words[1]),
                         {.type = redis::Value::Type::integer, .integer = 1}}};
  }
  if (words[0] == "WAIT") return {.type = redis::Value::Type::integer, .integer = 1};
  static sim::Interpreter interpreter;
  const bool by_hash = words[0] == "EVALSHA";
  if (!by_hash && words[0] != "EVAL") {
    return interpreter.eval(keys_, "return redis.pcall(unpack(ARGV))", {}, words);
  }
  require(words.size() > 2, "EVAL has a script and keys");
  const std::string_view script = by_hash ? script_of(words[1]) : words[1];
  const auto count = static_cast<std::size_t>(words[2].front() - '0');
  if (by_hash && (!knows_scripts_ || script.empty())) {
    return {.type = redis::Value::Type::error, .text = "NOSCRIPT No matching script."};
  }
  const sim::Words all(words);
  return interpreter.eval(keys_, script, all.subspan(3, count), all.subspan(3 + count));
}

std::size_t PlayedServer::publish(std::string_view channel, std::string_view message) {
  std::size_t heard = 0;
  for (Stream& each : streams_) {
    if (!each.channels.contains(channel)) continue;
    queue(each, fuzz::wire_of({.type = redis::Value::Type::array,
                               .elements = {text("message"), text(channel), text(message)}}));
    ++heard;
  }
  return heard;
}

void PlayedServer::queue(Stream& stream, std::string bytes, Instant due, bool ends) {
  if (!stream.out.empty()) due = std::max(due, stream.out.back().due);
  stream.out.push_back({due, std::move(bytes), ends});
}

void PlayedServer::reply(std::size_t stream, const redis::Value& value, Instant now,
                         Bytes& script) {
  Stream& to = streams_[stream];
  std::string wire = fuzz::wire_of(value);
  const unsigned fault = script.byte() % (lies_ ? 15 : 5);
  if (fault == 0) return queue(to, std::move(wire));
  if (fault == 1) return queue(to, std::move(wire), now + script.byte() * 8ms);
  if (fault == 2) return queue(to, {}, {}, true);
  if (fault == 3) return queue(to, wire.substr(0, script.byte() * wire.size() / 256), {}, true);
  if (fault == 4) {
    paused_until_ = now + script.byte() * 40ms;
    return queue(to, std::move(wire));
  }
  const std::size_t at = script.byte() * wire.size() / 256;
  switch (fault) {
    case 5:
      wire[at] = static_cast<char>(script.byte());
      break;
    case 6:
      wire.erase(at, 1 + script.below(16));
      break;
    case 7:
      wire.insert(at, script.take(1 + script.below(16)));
      break;
    case 8:
      wire = kReplies[script.below(std::size(kReplies))];
      break;
    case 9:
      wire += kReplies[script.below(std::size(kReplies))];
      break;
    case 10:
      wire.clear();  // one reply fewer
      break;
    case 11:
      wire += wire;
      break;
    case 12:
      wire = script.take(1 + script.below(64));
      break;
    case 13:
      change_state(script);
      break;
    default:
      for (Stream& each : streams_) {
        for (const std::string& channel : each.channels) {
          publish(channel, kMessages[script.below(std::size(kMessages))]);
        }
      }
  }
  queue(to, std::move(wire));
}

void PlayedServer::change_state(Bytes& script) {
  const std::string own = keys_.look("L", keys_.now()) == nullptr
                              ? std::string(40, 'e')
                              : keys_.look("L", keys_.now())->text;
  using Type = sim::Keyspace::Type;
  const std::int64_t ends = keys_.now() + 20 * script.byte();
  switch (script.below(6)) {
    case 0:
      return keys_.clear();
    case 1:
      keys_.put("L", Type::string, "revoked:" + own + " {\"host\":\"h\"}", ends);
      return;
    case 2:
      keys_.put("L", Type::string, "cooling:" + own, ends);
      return;
    case 3:
      keys_.put("L", Type::list, "", ends);
      return;
    case 4:
      keys_.put("L", Type::string, std::string(40, 'f'), ends == keys_.now() ? 0 : ends);
      return;
    default:
      keys_.identity = {"run" + std::to_string(script.byte()), keys_.now()};
  }
}

bool PlayedServer::send_due(std::size_t index, Instant now) {
  Stream& stream = streams_[index];
  Connection& end = port_.connections()[index];
  bool moved = false;
  while (!stream.out.empty() && stream.out.front().due <= now) {
    const Out out = std::move(stream.out.front());
    stream.out.pop_front();
    moved = true;
    if (!end.socket) continue;
    stream.said = (stream.said + out.bytes)
                      .substr(std::max(stream.said.size() + out.bytes.size(), kGranted.size()) -
                              kGranted.size());
    const bool says = out.bytes.find(kGranted) != std::string::npos ||
                      stream.said.find(kGranted) != std::string::npos;
    said_granted_ = said_granted_ || says;
    if (!end.send(out.bytes) || out.ends) {
      end.socket.reset();
      stream.channels.clear();
    }
  }
  if (end.closed) stream.channels.clear();
  return moved;
}

}  // namespace redlock::fuzz
