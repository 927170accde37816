// SPDX-License-Identifier: MIT
#include "scenario.h"

#include <sstream>
#include <stdexcept>

namespace redlock::scenarios {

using namespace std::chrono_literals;
using lock::Duration;

namespace {

/// A session that never rests would play without end.
constexpr int kMostTurns = 10'000;

Words read_words(std::istringstream& in) {
  Words words;
  for (std::string word; in >> word;) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) {
      words.bare.push_back(word);
    } else {
      words.named[word.substr(0, equals)] = word.substr(equals + 1);
    }
  }
  return words;
}

Duration duration_or(const Words& words, std::string_view name, Duration otherwise) {
  const auto found = words.named.find(name);
  return found == words.named.end() ? otherwise : read_duration(found->second);
}

lock::ServerIndex server_of(const std::string& name) {
  if (name.size() != 1 || name.front() < 'A' || name.front() > 'I') {
    throw std::runtime_error("not a server: " + name);
  }
  return static_cast<lock::ServerIndex>(name.front() - 'A');
}

}  // namespace

std::vector<std::string> Scenario::play(std::string_view step) {
  lines_.clear();
  std::istringstream in{std::string(step)};
  std::string verb;
  in >> verb;
  const Words words = read_words(in);
  if (verb == "session") {
    begin(words);
  } else if (verb == "running") {
    win(words);
  } else if (!session_) {
    throw std::runtime_error("a scenario begins with 'session' or 'running'");
  } else if (verb == "pass") {
    pass(read_duration(words.bare.at(0)));
  } else if (verb == "job") {
    job(words);
  } else if (verb == "signal") {
    happen(lock::Signal{std::stoi(words.bare.at(0)), true});
  } else if (verb == "told") {
    happen(lock::Notice{});
  } else if (verb == "woken") {
    const bool later = words.bare.size() == 2 && words.bare.front() == "in";
    happen(lock::Woken{later ? read_duration(words.bare.back()) : Duration::zero()});
  } else if (verb == "subscribed") {
    happen(lock::Subscribed{server_of(words.bare.at(0))});
  } else {
    answer(verb, words);
  }
  pass(0s);  // whatever is due immediately
  return std::exchange(lines_, {});
}

void Scenario::begin(const Words& words) {
  lock::Plan plan{.servers = 3,
                  .timing = {.ttl = duration_or(words, "ttl", 30s),
                             .grace = duration_or(words, "grace", 5s),
                             .min_hold = duration_or(words, "min-hold", 0s),
                             .once = duration_or(words, "once", 0s)},
                  .patience = {.wait = {}, .server_wait = duration_or(words, "server-wait", 10s)},
                  .max_runtime = {},
                  .server_timeout = 200ms,
                  .seed = 42};
  if (words.named.contains("servers")) plan.servers = std::stoul(words.named.at("servers"));
  if (words.named.contains("wait")) plan.patience.wait = read_duration(words.named.at("wait"));
  if (words.named.contains("max-runtime")) {
    plan.max_runtime = read_duration(words.named.at("max-runtime"));
  }
  plan.replaces = words.named.contains("replace");
  session_.emplace(plan, now_);
  happen(lock::Tick{});
}

/// All servers grant, and the job has run for a second. All that is said is until when the lock is
/// ours.
void Scenario::win(const Words& words) {
  begin(words);
  for (const Request& request : std::vector(open_)) {
    answer_one(request.ask.server, lock::Op::acquire, {{"granted"}, {{"fence", "7"}}});
  }
  happen(lock::JobStarted{});
  pass(1s);
  lines_.clear();
  say(state_);
}

void Scenario::pass(Duration length) {
  const lock::Instant end = now_ + length;
  for (int turns = 0; session_->deadline() <= end && !session_->finished(); ++turns) {
    if (turns == kMostTurns) throw std::runtime_error("the session does not come to rest");
    now_ = std::max(now_, session_->deadline());
    happen(lock::Tick{});
  }
  now_ = end;
}

/// "A,B acquire granted fence=7". The request was sent when it was asked for, or at sent=…
void Scenario::answer(const std::string& servers, const Words& words) {
  if (words.bare.size() < 2) throw std::runtime_error("unknown step: " + servers);
  const lock::Op op = read_op(words.bare[0]);
  Words rest = words;
  rest.bare.erase(rest.bare.begin());
  for (const char server : servers) {
    if (server != ',') answer_one(server_of(std::string(1, server)), op, rest);
  }
}

void Scenario::answer_one(lock::ServerIndex server, lock::Op op, const Words& words) {
  const auto found = std::ranges::find_if(open_, [&](const Request& request) {
    return request.ask.server == server && request.ask.op() == op;
  });
  if (found == open_.end()) throw std::runtime_error(name_of(server) + " was not asked that");
  const Request request = *found;
  open_.erase(found);
  const Duration sent = duration_or(words, "sent", request.asked.time_since_epoch());
  happen(lock::Reply{request.ask, lock::Instant(sent), read_answer(words)});
}

void Scenario::job(const Words& words) {
  const std::string verb = words.bare.empty() ? "" : words.bare.front();
  if (verb == "starts") return happen(lock::JobStarted{});
  if (verb == "late") return happen(lock::JobTooLate{});
  if (verb == "ends") {
    const bool killed = words.bare.size() == 3 && words.bare[2] == "killed";
    const auto end = killed ? lock::JobEnd::killed : lock::JobEnd::by_itself;
    return happen(lock::JobExited{std::stoi(words.bare.at(1)), end});
  }
  if (verb == "gone") return happen(lock::JobTreeGone{});
  throw std::runtime_error("job starts|late|ends N|gone");
}

void Scenario::happen(const lock::Event& event) {
  if (std::holds_alternative<lock::JobTooLate>(event)) spawned_ = false;
  std::string asked;  // of servers that are asked the same: "A,B: acquire, attempt 1"
  const auto say_asked = [&] {
    if (!asked.empty()) say(std::exchange(asked, {}));
  };
  for (const lock::Effect& effect : session_->step(event, now_)) {
    const std::string text = text_of(effect);
    if (std::holds_alternative<lock::Spawn>(effect)) spawned_ = true;
    if (const auto* ask = std::get_if<lock::Ask>(&effect)) {
      open_.push_back({*ask, now_});
      const std::string server = name_of(ask->server);
      const std::size_t colon = asked.find(':');
      if (!asked.empty() && server + asked.substr(colon) == text) {
        asked.insert(colon, "," + server);
      } else {
        say_asked();
        asked = text;
      }
    } else {
      say_asked();
      say(text);
    }
  }
  say_asked();
  note_state();
}

/// Once a job was started: until when the lock surely is ours.
void Scenario::note_state() {
  std::string state;
  if (session_->finished()) {
    state = "finished: " + text_of(session_->outcome());
  } else if (spawned_) {
    state = "the lock is ours until " +
            text_of(session_->worker_state().valid_until.time_since_epoch());
  }
  if (state == state_) return;
  state_ = state;
  if (!state.empty()) say(state);
}

/// Of many lines that say the same the last one is kept, with their number.
void Scenario::say(const std::string& text) {
  repeated_ = text == said_ && !lines_.empty() ? repeated_ + 1 : 0;
  if (repeated_ >= 2) lines_.pop_back();
  const std::string again = repeated_ >= 2 ? " (" + std::to_string(repeated_) + " times more)" : "";
  lines_.push_back(text_of(now_.time_since_epoch()) + "  " + text + again);
  said_ = text;
}

}  // namespace redlock::scenarios
