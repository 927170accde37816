// SPDX-License-Identifier: MIT
//
// Servers that answer by themselves, in a thread, so that a test can call a whole command: each
// request gets the reply that the test's function makes.
#pragma once

#include <deque>
#include <thread>

#include "config/settings.h"
#include "os/fd.h"
#include "played_server.h"
#include "redis/requests/scripts.h"
#include "redis/wire/resp.h"
#include "written.h"

namespace redlock::tests {

struct Asked {
  std::size_t server = 0;
  std::string name;                ///< of a script, or the command
  std::vector<std::string> words;  ///< keys and arguments of a script, or all words
};

/// The name of a script of which this is the text, alone or after another one; or empty.
inline std::string script_name(std::string_view text) {
  namespace all = redis::scripts;
  static const std::vector<std::pair<const redis::Script*, const char*>> kNames = {
      {&all::acquire, "acquire"},    {&all::look, "look"},         {&all::waiting, "waiting"},
      {&all::done, "done"},          {&all::refusals, "refusals"}, {&all::revoke, "revoke"},
      {&all::remove, "remove"},      {&all::hand_on, "hand_on"},   {&all::log, "log"},
      {&all::refuse, "refuse"},      {&all::history, "history"},   {&all::leave, "leave"},
      {&all::leave_shared, "leave"}, {&all::renew, "renew"},       {&all::renew_shared, "renew"},
      {&all::hold, "hold"}};
  for (const auto& [script, name] : kNames) {
    if (text.ends_with(script->text)) return name;
  }
  return {};
}

/// What a server says that has nothing to tell.
inline std::string usual_reply(const std::string& name) {
  if (name == "hand_on") return array_of("held");
  if (name == "waiting") return array_of("waiting", 0);
  if (name == "done") return array_of("missing");
  if (name == "refusals") return array_of("refusals");
  if (name == "history") return array_of("log");
  return ":1\r\n";
}

class AnsweringServers {
 public:
  /// No reply: the connection ends.
  using Reply = std::function<std::optional<std::string>(const Asked& asked)>;

  /// `started`: the thread starts here; else with start(), after the fork of the process that asks.
  /// A fork beside the thread would copy the locks that the thread holds.
  AnsweringServers(std::size_t count, Reply reply, bool started = true) : reply_(std::move(reply)) {
    for (std::size_t server = 0; server < count; ++server) {
      settings_.servers.push_back(servers_.emplace_back().endpoint());
    }
    if (started) start();
  }
  ~AnsweringServers() { stop(); }
  /// Afterwards a test can read and change what the function that makes the replies uses.
  void stop() {
    stop_.write.reset();
    if (thread_.joinable()) thread_.join();
    connections_.clear();
  }
  void start() {
    stop_ = os::make_pipe();
    thread_ = std::thread([this] { serve(); });
  }
  AnsweringServers(const AnsweringServers&) = delete;
  AnsweringServers& operator=(const AnsweringServers&) = delete;

  /// Of a command that asks these servers, and never gives up for want of time.
  [[nodiscard]] config::Settings settings() const {
    config::Settings settings = settings_;
    settings.ttl = std::chrono::hours(1);
    settings.server_timeout = std::chrono::seconds(20);
    settings.log_entries = 0;
    return settings;
  }

 private:
  struct Connection {
    std::size_t server;
    os::Fd fd;
    std::unique_ptr<redis::ReplyParser> parser = std::make_unique<redis::ReplyParser>();
  };

  void serve() {
    for (;;) {
      std::vector<pollfd> polled{{stop_.read.get(), POLLIN, 0}};
      for (const PlayedServer& each : servers_) polled.push_back({each.listener(), POLLIN, 0});
      for (const Connection& each : connections_) polled.push_back({each.fd.get(), POLLIN, 0});
      ::poll(polled.data(), polled.size(), -1);
      if (polled[0].revents != 0) return;
      for (std::size_t at = connections_.size(); at-- > 0;) {
        if (polled[1 + servers_.size() + at].revents == 0 || answer(connections_[at])) continue;
        connections_.erase(connections_.begin() + static_cast<std::ptrdiff_t>(at));
      }
      for (std::size_t at = 0; at < servers_.size(); ++at) {
        if (polled[1 + at].revents == 0) continue;
        connections_.push_back({at, os::Fd(::accept(polled[1 + at].fd, nullptr, nullptr))});
      }
    }
  }

  /// False: the connection is over.
  bool answer(Connection& connection) {
    std::array<char, 65536> chunk{};
    const ssize_t n = ::read(connection.fd.get(), chunk.data(), chunk.size());
    if (n <= 0) return false;
    connection.parser->feed({chunk.data(), static_cast<std::size_t>(n)});
    while (const auto command = connection.parser->next()) {
      Asked asked{.server = connection.server, .name = command->elements.front().text, .words = {}};
      if (asked.name == "EVALSHA") {
        static constexpr std::string_view kUnknown = "-NOSCRIPT No matching script.\r\n";
        if (::send(connection.fd.get(), kUnknown.data(), kUnknown.size(), MSG_NOSIGNAL) < 0)
          return false;
        continue;
      }
      const bool script = asked.name == "EVAL";
      if (script) asked.name = script_name(command->elements[1].text);
      for (std::size_t at = script ? 3 : 0; at < command->elements.size(); ++at) {
        asked.words.push_back(command->elements[at].text);
      }
      const auto reply = reply_(asked);
      if (!reply) return false;
      if (::send(connection.fd.get(), reply->data(), reply->size(), MSG_NOSIGNAL) < 0) return false;
    }
    return true;
  }

  Reply reply_;
  config::Settings settings_;
  std::deque<PlayedServer> servers_;
  std::vector<Connection> connections_;
  os::Pipe stop_{};
  std::thread thread_;
};

/// Each combination of what three servers do once, in an order that differs from one to the next.
/// `Kind` is an enumeration, of which the first `kinds` are used.
template <class Kind>
std::vector<std::array<Kind, 3>> trios(int kinds) {
  std::vector<std::array<Kind, 3>> all;
  for (int a = 0; a < kinds; ++a) {
    for (int b = a; b < kinds; ++b) {
      for (int c = b; c < kinds; ++c) {
        std::array<Kind, 3> one{static_cast<Kind>(a), static_cast<Kind>(b), static_cast<Kind>(c)};
        std::rotate(one.begin(), one.begin() + static_cast<int>(all.size() % 3), one.end());
        all.push_back(one);
      }
    }
  }
  return all;
}
template <class Kind>
std::string described(const std::array<Kind, 3>& trio) {
  std::string text;
  for (const Kind each : trio) text += std::to_string(static_cast<int>(each)) + " ";
  return text;
}

/// The answer to the script `look`.
struct Shown {
  std::string type = "none";
  std::string value{};
  std::int64_t left = -2;  ///< ms
  std::string holder{};    ///< JSON
  std::uint64_t fence = 0;
  int holds = 1;
  std::string member{};  ///< of a lock of Redisson's
  std::int64_t count = 0;
  std::vector<std::pair<std::string, std::string>> readers{};  ///< tokens and holders
  std::size_t more_readers = 0;                                ///< that are not named

  [[nodiscard]] std::string wire() const {
    Wire listed{"*" + std::to_string(readers.size()) + "\r\n"};
    for (const auto& [token, who] : readers) {
      listed += array_of(token, std::to_string(left), who, "7", "run");
    }
    return array_of("seen", type, value, left, holder, std::to_string(fence), holds, member, count,
                    "run", listed, readers.size() + more_readers, left);
  }
};

/// A lock with this value, whose holder's record is `{}` unless there is another.
inline Shown held_as(std::string value, std::int64_t left = 40'000, std::string holder = "{}") {
  return {.type = "string", .value = std::move(value), .left = left, .holder = std::move(holder)};
}

}  // namespace redlock::tests
