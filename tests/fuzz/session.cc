// SPDX-License-Identifier: MIT
//
// A whole run of redlock, with servers that answer what honest servers answer, until the input
// changes it. An honest server may be slow, stand still, or end a connection; a liar may do
// anything. All that happens is a function of the input: the clock is this file's, and so are the
// random numbers.
//
// However many lie, the job runs only while a quorum grants the lock: honest servers that have the
// token, and liars that have said so. And a run comes to an end.
#include <sys/random.h>

#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <set>

#include "driver/progress.h"
#include "driver/setup.h"
#include "fuzz.h"
#include "interpreter.h"
#include "keyspace.h"
#include "lock/session.h"
#include "lock/value.h"
#include "os/signals.h"
#include "os/stderr.h"
#include "port.h"
#include "redis/requests/answer.h"
#include "redis/requests/scripts.h"

namespace redlock::fuzz {

using namespace std::chrono_literals;
using lock::Instant;

namespace {

constexpr std::int64_t kStartMs = 1'795'172'400'000;
constexpr std::size_t kMostServers = 5;
constexpr std::string_view kGranted = "granted";

std::uint64_t random_state = 0;

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
    ":-9223372036854775808\r\n"};
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

/// One text for each script, as the interpreter wants it.
std::string_view interned(const std::string& text) {
  static std::set<std::string> all;
  return *all.insert(text).first;
}

/// The reply has old texts where its kind needs none.
redis::Value as_value(const sim::CommandReply& reply) {
  using Type = redis::Value::Type;
  switch (reply.kind) {
    case sim::CommandReply::Kind::integer:
      return {.type = Type::integer, .integer = reply.integer};
    case sim::CommandReply::Kind::error:
      return {.type = Type::error, .text = std::string(reply.text)};
    default:
      return {.type = Type::status, .text = "OK"};
  }
}

redis::Value text(std::string_view content) {
  return {.type = redis::Value::Type::string, .text = std::string(content)};
}

/// A Redis server with redlock's own scripts.
class PlayedServer {
 public:
  void begin(std::size_t index, bool lies, bool knows_scripts, std::int64_t up_s) {
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

  /// Carries out what has come, and sends the replies that are due. True: something happened.
  bool turn(Instant now, Bytes& script) {
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
  [[nodiscard]] Instant deadline(Instant now) const {
    if (now < paused_until_) return paused_until_;
    Instant earliest = lock::kNever;
    for (const Stream& each : streams_) {
      if (!each.out.empty()) earliest = std::min(earliest, each.out.front().due);
    }
    return earliest;
  }

  /// It has granted the token, and that still counts.
  [[nodiscard]] bool has(const std::string& token, Instant now) const {
    if (lies_) return said_granted_;
    const sim::Keyspace::Key* const key = keys_.look("L", ms(now));
    if (key == nullptr) return false;
    if (!lock::is_of_reader(token)) return key->text == token;
    const sim::Keyspace::Key* const list = keys_.look(redis::helper_key("L", "readers"), ms(now));
    return list != nullptr && std::ranges::any_of(list->members, [&](const auto& member) {
             return member.name == token && member.score > static_cast<double>(ms(now));
           });
  }
  [[nodiscard]] const redis::Endpoint& endpoint() const { return port_.endpoint(); }
  sim::Keyspace& keys() { return keys_; }
  [[nodiscard]] bool lies() const { return lies_; }

  static std::int64_t ms(Instant now) { return kStartMs + (now - kStart) / 1ms; }

 private:
  struct Out {
    Instant due;
    std::string bytes;
    bool ends = false;  ///< hangs up after these bytes
  };
  struct Stream {
    std::unique_ptr<redis::ReplyParser> commands = std::make_unique<redis::ReplyParser>();
    std::deque<Out> out{};
    std::set<std::string, std::less<>> channels{};
    std::string said{};  ///< the last bytes
  };

  redis::Value execute(std::size_t stream, const std::vector<redis::Value>& command) {
    std::vector<std::string_view> words;
    for (const redis::Value& word : command) words.push_back(word.text);
    const redis::Value none{.type = redis::Value::Type::error, .text = "ERR unknown command"};
    if (words.empty()) return none;
    if (words[0] == "SUBSCRIBE" && words.size() == 2) {
      streams_[stream].channels.emplace(words[1]);
      return {.type = redis::Value::Type::array,
              .elements = {text("subscribe"),
                           text(words[1]),
                           {.type = redis::Value::Type::integer, .integer = 1}}};
    }
    if (words[0] == "WAIT") return {.type = redis::Value::Type::integer, .integer = 1};
    const bool by_hash = words[0] == "EVALSHA";
    if (!by_hash && words[0] != "EVAL") return as_value(keys_.run(words));
    require(words.size() > 2, "EVAL has a script and keys");
    const std::string_view script = by_hash ? script_of(words[1]) : interned(std::string(words[1]));
    const auto count = static_cast<std::size_t>(words[2].front() - '0');
    if (by_hash && (!knows_scripts_ || script.empty())) {
      return {.type = redis::Value::Type::error, .text = "NOSCRIPT No matching script."};
    }
    static sim::Interpreter interpreter{{}};
    const sim::Words all(words);
    return interpreter.eval(keys_, script, all.subspan(3, count), all.subspan(3 + count));
  }

  std::size_t publish(std::string_view channel, std::string_view message) {
    std::size_t heard = 0;
    for (Stream& each : streams_) {
      if (!each.channels.contains(channel)) continue;
      queue(each, fuzz::wire_of({.type = redis::Value::Type::array,
                                 .elements = {text("message"), text(channel), text(message)}}));
      ++heard;
    }
    return heard;
  }

  void queue(Stream& stream, std::string bytes, Instant due = {}, bool ends = false) {
    if (!stream.out.empty()) due = std::max(due, stream.out.back().due);
    stream.out.push_back({due, std::move(bytes), ends});
  }

  void reply(std::size_t stream, const redis::Value& value, Instant now, Bytes& script) {
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

  void change_state(Bytes& script) {
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

  bool send_due(std::size_t index, Instant now) {
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

  Port port_{Port::Kind::unix_socket};
  std::deque<Stream> streams_;  ///< by connection
  sim::Keyspace keys_;
  bool lies_ = false;
  bool knows_scripts_ = false;
  bool said_granted_ = false;
  Instant paused_until_{};  ///< nothing that came since is read
};

std::array<PlayedServer, kMostServers>& all_servers() {
  static std::array<PlayedServer, kMostServers> all;
  return all;
}

/// The settings of the run, and what it meets.
struct Scene {
  explicit Scene(Bytes& input) {
    servers = std::array<std::size_t, 4>{3, 1, 5, 3}[input.below(4)];
    liars = input.byte();
    const unsigned mode = input.below(9);
    settings.ttl = std::array<std::chrono::milliseconds, 3>{3s, 1s, 30s}[input.below(3)];
    const unsigned patience = input.byte();
    settings.wait = patience % 8 == 7 ? 0ms : (patience % 8 + 1) * 1s;
    settings.server_wait = 3s;
    job_length = input.byte() * 40ms;
    taken_for = input.byte() * 40ms;
    const unsigned flags = input.byte();
    obeys = (flags & 1U) == 0;
    knows_scripts = (flags & 2U) != 0;
    up_s = (flags & 4U) != 0 ? 5 : 100'000;
    lingers = (flags & 8U) != 0;
    fails_to_start = (flags & 0xf0U) == 0xf0U;
    if ((flags & 16U) != 0) settings.max_runtime = 2s;
    settings.wait_all = (flags & 32U) != 0;
    signal_at = input.byte() * 100ms;
    settings.shared = mode == 1;
    settings.slots = mode == 2 ? 3 : 0;
    if (mode == 3) settings.build = 7;
    settings.newest = mode == 4;
    settings.once = mode == 5 ? 10s : 0s;
    settings.min_hold = mode == 6 ? 2s : 0s;
    settings.replaces = mode == 7;
    settings.replicas = mode == 8 ? 1 : 0;
    settings.verbose = (flags & 64U) != 0 ? 2 : 1;
    for (std::size_t i = 0; i < servers; ++i) {
      const bool lies = (liars >> i & 1U) != 0;
      all_servers()[i].begin(i, lies, knows_scripts, up_s);
      settings.servers.push_back(all_servers()[i].endpoint());
      if (taken_for <= 0ms) continue;
      all_servers()[i].keys().put("L", sim::Keyspace::Type::string, std::string(40, 'd'),
                                  kStartMs + taken_for / 1ms);
    }
  }

  std::size_t servers;
  unsigned liars;
  config::Settings settings;
  lock::Duration job_length;
  lock::Duration taken_for;  ///< another process has the lock; zero: it is free
  bool obeys;                ///< the job, a TERM
  bool knows_scripts;
  std::int64_t up_s;
  bool lingers;  ///< a descendant of the job outlives it
  bool fails_to_start;
  lock::Duration signal_at;  ///< redlock gets TERM; zero: it does not
};

/// The loop of driver/driver.h, with a clock of its own.
class Game final : private lock::Performer {
 public:
  explicit Game(std::string_view input)
      : script_(input),
        scene_(script_),
        lock_(driver::lock_id(scene_.settings, "L")),
        who_(driver::describe_ourselves(scene_.settings, {"job"})),
        session_(plan(), now_),
        drive_(session_, *this),
        servers_(driver::open_servers(scene_.settings, lock_, scene_.settings.ttl,
                                      driver::record_of(who_))),
        reporter_(driver::reporter_for(scene_.settings, "L", out_)) {}

  void play() {
    const bool calm = script_.empty();
    drive_.step(lock::Tick{}, now_);
    for (int turns = 0; !session_.finished(); ++turns) {
      require(turns < 50'000, "a run does not turn for ever");
      require(now_ < kStart + 5min, "a run comes to an end");
      turn();
    }
    require(!job_, "no job outlives its run");
    turn_servers();
    for (std::size_t i = 0; calm && token_ && i < scene_.servers; ++i) {
      require(all_servers()[i].lies() || !all_servers()[i].has(*token_, now_),
              "where nothing goes wrong, no server keeps the lock");
    }
  }

 private:
  lock::Plan plan() {
    lock::Plan plan = driver::plan_for(scene_.settings);
    plan.seed = 42;
    return plan;
  }

  bool turn_servers() {
    bool moved = false;
    for (std::size_t i = 0; i < scene_.servers; ++i) {
      moved = all_servers()[i].turn(now_, script_) || moved;
    }
    return moved;
  }

  void turn() {
    const bool moved = turn_servers();
    if (!moved) pass_time();
    drive_.step(lock::Tick{}, now_);
    if (scene_.signal_at > 0s && !signalled_ && now_ >= kStart + scene_.signal_at) {
      signalled_ = true;
      if (job_)
        end_job_by(SIGTERM);
      else if (!session_.finished())
        drive_.step(lock::Signal{SIGTERM, true}, now_);
    }
    poll_job();
    take_replies();
    check_votes();
  }

  void pass_time() {
    Instant next = std::min({session_.deadline(), servers_.deadline(), kStart + 5min});
    for (std::size_t i = 0; i < scene_.servers; ++i) {
      next = std::min(next, all_servers()[i].deadline(now_));
    }
    if (job_) next = std::min(next, job_->ends);
    if (tree_) next = std::min(next, tree_->ends);
    if (!signalled_ && scene_.signal_at > 0s) next = std::min(next, kStart + scene_.signal_at);
    if (next <= now_) {
      require(++idle_ < 100, "a run does not spin");
      next = now_;
    } else {
      idle_ = 0;
    }
    now_ = std::max(now_, next);
  }

  void take_replies() {
    for (lock::Reply& reply : servers_.turn(now_)) {
      idle_ = 0;
      reporter_.say_vote(reply);
      if (!session_.finished()) drive_.step(std::move(reply), now_);
    }
    for (const redis::Notice& notice : servers_.subscribers().take()) {
      reporter_.say_notice(notice.server, notice.text);
      if (!session_.finished()) drive_.step(lock::Notice{}, now_);
    }
    for (const redis::Notice& wake_up : servers_.take_wake_ups(now_)) {
      const auto in = redis::read_wake_up(wake_up.text);
      if (session_.finished()) continue;
      if (wake_up.text.empty()) drive_.step(lock::Subscribed{wake_up.server}, now_);
      if (in) drive_.step(lock::Woken{*in}, now_);
    }
  }

  void poll_job() {
    if (job_ && now_ >= job_->ends) {
      const Job ended = *std::exchange(job_, std::nullopt);
      drive_.step(lock::JobExited{ended.status, ended.end}, now_);
    }
    if (!job_ && tree_ && (now_ >= tree_->ends || !scene_.lingers)) tree_.reset();
    if (token_ && !job_ && !tree_ && session_.watching_tree()) {
      drive_.step(lock::JobTreeGone{}, now_);
    }
  }

  void end_job_by(int signal) {
    if (signal != SIGKILL && !scene_.obeys) return;
    if (job_ && job_->ends > now_ + 5ms) {
      *job_ = {now_ + 5ms, 128 + signal, lock::JobEnd::as_told};
    }
    if (tree_) tree_->ends = std::min(tree_->ends, now_ + 10ms);
  }

  /// A quorum has granted what we have, as long as our lease lasts.
  void check_votes() {
    if (!job_ || now_ >= session_.worker_state().valid_until) return;
    std::size_t votes = 0;
    for (std::size_t i = 0; i < scene_.servers; ++i) {
      votes += all_servers()[i].has(*token_, now_) ? 1U : 0U;
    }
    require(votes >= scene_.servers / 2 + 1, "a job runs under a lock of a quorum");
  }

  void perform(const lock::Effect& effect, Instant now) override {
    if (const auto* ask = std::get_if<lock::Ask>(&effect)) {
      servers_.ask(*ask, now);
    } else if (const auto* spawn = std::get_if<lock::Spawn>(&effect)) {
      start_job(*spawn);
    } else if (const auto* kill = std::get_if<lock::Kill>(&effect)) {
      const bool found = job_ || tree_;
      end_job_by(kill->signal);
      if (kill->signal == SIGKILL) drive_.step(lock::Killed{found && !killed_}, now);
      killed_ = killed_ || kill->signal == SIGKILL;
    } else if (std::holds_alternative<lock::Measure>(effect)) {
      drive_.step(lock::KillCost{2ms}, now);
    } else if (const auto* listen = std::get_if<lock::Subscribe>(&effect)) {
      servers_.subscribe(listen->attempt, now);
    } else if (const auto* join = std::get_if<lock::JoinQueue>(&effect)) {
      servers_.join_queue(join->ticket, join->early, now);
    } else if (const auto* line = std::get_if<lock::Log>(&effect)) {
      servers_.log(*line, records::word_for(line->event), to_json(records::log_entry(*line, who_)),
                   now);
    } else if (const auto* report = std::get_if<lock::Report>(&effect)) {
      reporter_.say(*report);
    } else if (const auto* order = std::get_if<lock::Replace>(&effect)) {
      replace(*order, now);
    }
  }

  void replace(const lock::Replace& order, Instant now) {
    for (const auto& [server, refusal] : order.refusals) {
      const std::string_view token = lock::read_value(refusal.blocker).token;
      servers_.ask({.server = server,
                    .attempt = lock::kNoAttempt,
                    .operation = lock::op::Revoke{records::revoked_value(token, who_)}},
                   now);
    }
  }

  void start_job(const lock::Spawn& spawn) {
    require(!job_ && !token_, "a job starts once");
    if (scene_.fails_to_start) return drive_.step(lock::JobFailedToStart{127}, now_);
    if (now_ >= spawn.latest) return drive_.step(lock::JobTooLate{}, now_);
    require(spawn.fence > 0, "a job has a fence");
    token_ = servers_.token(spawn.attempt);
    job_ = Job{now_ + scene_.job_length, 0, lock::JobEnd::by_itself};
    tree_ = Tree{now_ + scene_.job_length + 2s};
    drive_.step(lock::JobStarted{}, now_);
  }

  struct Job {
    Instant ends;
    int status;
    lock::JobEnd end;
  };
  struct Tree {
    Instant ends;
  };

  Bytes script_;
  Scene scene_;
  Instant now_ = kStart;
  driver::LockId lock_;
  records::Holder who_;
  lock::Session session_;
  lock::Drive drive_;
  redis::ServerSet servers_;
  os::Stderr out_;
  diag::Reporter reporter_;
  std::optional<Job> job_;
  std::optional<Tree> tree_;
  std::optional<std::string> token_;
  bool signalled_ = false;
  bool killed_ = false;
  int idle_ = 0;
};

}  // namespace

void session(std::string_view input) {
  random_state = 1;
  Game(input).play();
  require_clean_lines(take_stderr());
}

}  // namespace redlock::fuzz

/// In place of libc's: tokens are the same each time.
extern "C" ssize_t getrandom(void* buffer, size_t size, unsigned /*flags*/) {
  auto* const bytes = static_cast<unsigned char*>(buffer);
  for (size_t at = 0; at < size; ++at) {
    redlock::fuzz::random_state =
        redlock::fuzz::random_state * 6364136223846793005U + 1442695040888963407U;
    bytes[at] = static_cast<unsigned char>(redlock::fuzz::random_state >> 56U);
  }
  return static_cast<ssize_t>(size);
}
