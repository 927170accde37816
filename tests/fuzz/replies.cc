// SPDX-License-Identifier: MIT
//
// Replies of servers, as bytes.
#include "fuzz.h"
#include "lock/judgement.h"
#include "look/history.h"
#include "observe/log_reader.h"
#include "observe/observer.h"
#include "port.h"
#include "redis/connection/locator.h"
#include "redis/requests/answer.h"
#include "redis/servers/server_set.h"
#include "redis/wire/trouble.h"

namespace redlock::fuzz {

using namespace std::chrono_literals;
using redis::Value;

namespace {

/// The replies in `bytes`, fed `step` bytes at a time; then whether the parser gave up.
std::vector<Value> replies_in(std::string_view bytes, redis::ReplyLimits limits = {},
                              std::size_t step = std::string_view::npos, bool* broken = nullptr) {
  redis::ReplyParser parser(limits);
  std::vector<Value> values;
  while (!bytes.empty()) {
    parser.feed(bytes.substr(0, step));
    bytes.remove_prefix(std::min(step, bytes.size()));
    while (auto value = parser.next()) values.push_back(std::move(*value));
  }
  if (broken != nullptr) *broken = parser.broken();
  return values;
}

bool is_plain(const Value& value) {
  const bool line = value.type != Value::Type::status && value.type != Value::Type::error;
  return value.type != Value::Type::other &&
         (line || value.text.find_first_of("\r\n") == std::string::npos) &&
         std::ranges::all_of(value.elements, is_plain);
}

std::string wire_of(const std::vector<Value>& values) {
  std::string wire;
  for (const Value& value : values) wire += fuzz::wire_of(value);
  return wire;
}

void require_clean(const lock::Unreachable& trouble) {
  require(is_clean(trouble.why) && trouble.why.size() < 1000, "a trouble is clean and short");
}

void check(lock::Op op, const lock::Answer& answer, std::string_view word) {
  if (const auto* none = std::get_if<lock::Unreachable>(&answer)) return require_clean(*none);
  if (std::holds_alternative<lock::Granted>(answer)) {
    require(word == "granted" && (op == lock::Op::acquire || op == lock::Op::repair),
            "only a grant is read as one");
    require(std::get<lock::Granted>(answer).distrusted_for >= 0s, "no time is below zero");
  } else if (const auto* refused = std::get_if<lock::Refused>(&answer)) {
    require(refused->ttl_left.value_or(0ms) >= 0ms && refused->clock >= 0ms,
            "no time is below zero");
  } else if (const auto* done = std::get_if<lock::Done>(&answer)) {
    require(done->age >= 0ms && done->left >= 0ms, "no time is below zero");
  }
}

}  // namespace

std::string wire_of(const Value& value) {
  std::string wire;
  switch (value.type) {
    case Value::Type::string:
      return "$" + std::to_string(value.text.size()) + "\r\n" + value.text + "\r\n";
    case Value::Type::status:
      return "+" + value.text + "\r\n";
    case Value::Type::error:
      return "-" + value.text + "\r\n";
    case Value::Type::integer:
      return ":" + std::to_string(value.integer) + "\r\n";
    case Value::Type::array:
      wire = "*" + std::to_string(value.elements.size()) + "\r\n";
      for (const Value& element : value.elements) wire += wire_of(element);
      return wire;
    default:
      return "$-1\r\n";
  }
}

void resp(std::string_view input) {
  Bytes bytes(input);
  const std::size_t step = 1 + bytes.byte();
  const std::string_view wire = bytes.rest();
  bool broken = false;
  bool broken_in_steps = false;
  const std::vector<Value> values = replies_in(wire, {}, wire.size(), &broken);
  const std::string once = wire_of(values);
  require(
      once == wire_of(replies_in(wire, {}, step, &broken_in_steps)) && broken == broken_in_steps,
      "it does not matter how the bytes come");
  if (!std::ranges::all_of(values, is_plain)) return;
  require(wire_of(replies_in(once)) == once, "replies are read as they are written");
}

void answer(std::string_view input) {
  Bytes bytes(input);
  const auto op = static_cast<lock::Op>(bytes.below(std::variant_size_v<lock::Operation>));
  redis::LockContext context{.lock_key = "L"};
  const unsigned flags = bytes.byte();
  context.restart_grace = std::chrono::seconds((flags & 1U) != 0 ? 60 : 0);
  context.slots = (flags & 2U) != 0 ? 3 : 0;
  for (const Value& reply : replies_in(bytes.rest())) {
    const std::string word = reply.elements.empty() ? "" : reply.elements.front().text;
    const lock::Answer read = redis::read_answer(op, context, reply);
    check(op, read, word);
    check(op, redis::read_waited(read, reply, 2), word);
    check(lock::Op::revoke, redis::read_taken(reply).answer, word);
    if (const auto done = redis::read_done(reply)) check(op, *done, word);
    if (const auto queue = redis::read_waiting(reply)) {
      require(queue->length >= queue->first.size() && queue->first.size() <= 20, "a queue fits");
    }
    require(redis::read_refusals(reply).size() <= 32, "refusals are bounded");
    require_clean(redis::unexpected_reply(reply));
    require_clean(redis::error_reply(reply.text));
    if (const auto why = redis::outdated(reply)) require_clean(*why);
    if (!reply.elements.empty()) require(redis::read_length(reply.elements[0]) >= 0ms, "a length");
  }
}

void cluster(std::string_view input) {
  const redis::Endpoint endpoint = redis::parse_uri("redis+cluster://a,b:7000,[::1]");
  redis::Locator locator(endpoint, nullptr, {});
  locator.start(kStart, kStart + 1s);
  for (const Value& reply : replies_in(input, observe::ClusterMap::kLimits)) {
    if (redis::is_redirection(reply)) static_cast<void>(locator.named_by(reply.text));
    if (!locator.is_confirmed_by(reply, kStart) && locator.failure()) {
      require_clean(*locator.failure());
      if (const auto all = locator.leave(*locator.failure(), kStart)) require_clean(*all);
    }
    if (locator.place() != nullptr) {
      const redis::Address& place = locator.place()->address;
      require(redis::is_host(place.host) && place.port != 0, "a node has an address");
    }
    const auto map = observe::ClusterMap::read(reply, "asked");
    if (!map) continue;
    require(map->unserved() <= 16384 && map->primaries().size() <= 1024, "a map is bounded");
    for (const redis::Address& primary : map->primaries()) {
      require(redis::is_host(primary.host) && primary.port != 0, "a primary has an address");
    }
    for (const std::string_view key : {std::string_view("foo"), input.substr(0, 40)}) {
      require(map->primary_of(key).value_or(0) < map->primaries().size() || !map->primary_of(key),
              "a key has a primary of the map");
    }
  }
}

namespace {

/// Turns `client` at moments for at most a minute, while the server at the port answers each
/// request with the next part of the bytes, up to the byte 0xff.
template <class Client>
void converse(Port& port, Bytes& bytes, Client& client, const std::function<bool()>& done) {
  lock::Instant now = kStart;
  for (int turns = 0; !done(); ++turns) {
    require(turns < 10'000 && now < kStart + 60s, "a conversation comes to an end");
    bool moved = port.turn();
    for (Connection& each : port.connections()) {
      if (each.received.empty()) continue;
      each.received.clear();
      std::string part;
      while (!bytes.empty()) {
        const unsigned byte = bytes.byte();
        if (byte == 0xff) break;
        part += static_cast<char>(byte);
      }
      if (part.empty() && bytes.empty()) each.socket.reset();
      if (!part.empty()) static_cast<void>(each.send(part));
    }
    if (!moved) now = std::max(now + 1ms, std::min(client.deadline(), now + 100ms));
    client.turn(now);
  }
}

}  // namespace

/// The input is what Sentinels answer.
void sentinel(std::string_view input) {
  static Port port(Port::Kind::tcp);
  port.reset();
  Bytes bytes(input);
  redis::Endpoint endpoint = redis::parse_uri("redis+sentinel://s/svc");
  endpoint.nodes.assign(1 + bytes.below(3), port.endpoint().address);
  redis::Locator locator(endpoint, nullptr, {});
  locator.start(kStart, kStart + 1s);
  converse(port, bytes, locator, [&] { return locator.place() != nullptr || locator.failure(); });
  if (locator.place() == nullptr) return require_clean(*locator.failure());
  const redis::Address& place = locator.place()->address;
  require(redis::is_host(place.host) && place.port != 0, "a primary has an address");
  for (const Value& reply : replies_in(bytes.rest())) {
    const bool master = !reply.elements.empty() && reply.elements.front().text == "master";
    const bool silent = reply.type == Value::Type::error;
    require(!locator.is_confirmed_by(reply, kStart) || master || silent, "only a primary is one");
    if (locator.place() == nullptr) break;
  }
}

/// The input is what a server answers to `redlock list` and `redlock history`.
void look(std::string_view input) {
  static Port port(Port::Kind::unix_socket);
  port.reset();
  Bytes bytes(input);
  redis::Questions questions;
  const std::size_t server = questions.connect(port.endpoint(), nullptr, {});
  observe::Observer observer(questions, server);
  observe::LogReader reader(questions, server);
  const auto finished = [&] { return questions.finished(); };
  observer.scan("holder", kStart);
  converse(port, bytes, questions, finished);
  observer.look({"a", "b"}, observe::Marks::asked, "", kStart);
  converse(port, bytes, questions, finished);
  reader.read("a", kStart);
  converse(port, bytes, questions, finished);
  for (const auto& why : {observer.trouble(), observer.cut()}) {
    require(is_clean(why.value_or("")), "a trouble is clean");
  }
  std::vector<lock::Seen> seen;
  seen.push_back(observer.take(0).seen);
  seen.push_back(observer.take(1).seen);
  const lock::Judgement judgement = lock::judge(seen);
  require(judgement.answered <= 2 && judgement.agreeing.size() <= 2, "a judgement has its servers");
  std::vector<look::HistoryView> views{
      look::view_of(look::merge({reader.take_lines()}, {.now = 1'795'172'400s}), {})};
  views.front().name = "a";
  const std::vector<look::PastRun> runs = look::runs_of(views);
  static_cast<void>(look::as_table(runs, {}, {.width = 100, .terminal = true, .colors = true}));
  static_cast<void>(look::as_html(views, {.begin = 1'795'000'000s, .end = 1'795'172'400s}));
  cli::History request;
  request.settings.servers.push_back(port.endpoint());
  require_clean_lines(look::to_json(views, request, {std::nullopt}, ExitStatus::ok));
}

/// The input is what a server sends to a waiter, which tries again after each failure.
void subscriber(std::string_view input) {
  static Port port(Port::Kind::unix_socket);
  port.reset();
  Bytes bytes(input);
  redis::Subscriber subscriber(port.endpoint(), nullptr, {}, "L", "c");
  for (int round = 0; round < 3; ++round) {
    const lock::Instant now = kStart + round * 10s;
    subscriber.subscribe(now);
    std::vector<std::string> heard;
    for (int turns = 0; turns < 4; ++turns) {
      port.turn();
      for (Connection& each : port.connections()) {
        if (each.received.empty()) continue;
        each.received.clear();
        static_cast<void>(each.send(bytes.take(1 + bytes.byte())));
      }
      for (std::string& text : subscriber.turn(now + turns * 1s)) heard.push_back(std::move(text));
    }
    for (const std::string& text : heard) require(text.size() <= 1024, "a message is cut");
  }
}

}  // namespace redlock::fuzz
