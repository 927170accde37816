// SPDX-License-Identifier: MIT
#include "redis/inspection/inspector.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <string_view>
#include <utility>

#include "redis/requests/keys.h"
#include "redis/requests/queue.h"
#include "redis/requests/scripts.h"
#include "redis/wire/trouble.h"

namespace redlock::redis {
namespace {

using std::chrono::milliseconds;

/// An error to a harmless command that still leaves the server usable.
bool is_bearable(const Value& reply) {
  return reply.type != Value::Type::error || reply.text.starts_with("NOPERM") ||
         reply.text.find("unknown command") != std::string::npos;
}

std::map<std::string, std::string, std::less<>> fields_of(std::string_view text) {
  std::map<std::string, std::string, std::less<>> fields;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || line.starts_with('#')) continue;
    fields.emplace(line.substr(0, colon), line.substr(colon + 1));
  }
  return fields;
}

std::optional<std::int64_t> number(const Value& value) {
  std::int64_t parsed = 0;
  const char* const end = value.text.data() + value.text.size();
  const auto [stop, error] = std::from_chars(value.text.data(), end, parsed);
  constexpr std::int64_t kMost =
      7'258'118'400;  // the year 2200: no overflow, in nanoseconds either
  if (error != std::errc{} || stop != end || parsed < 0 || parsed > kMost) return std::nullopt;
  return parsed;
}

}  // namespace

std::string Inspection::field(std::string_view name) const {
  const auto found = info.find(name);
  return found == info.end() ? std::string() : found->second;
}

Inspector::Inspector(const Endpoint& endpoint, const TlsContext* tls, Timeouts timeouts,
                     std::string lock_key)
    : in_cluster_(endpoint.kind == Endpoint::Kind::cluster),
      lock_key_(std::move(lock_key)),
      holder_key_(helper_key(lock_key_, "holder")),
      fence_key_(helper_key(lock_key_, "fence")),
      dead_key_(helper_key(lock_key_, "dead")),
      log_key_(helper_key(lock_key_, "log")),
      channel_(notice_channel(lock_key_, "")),
      link_(endpoint, tls, timeouts, lock_key_),
      subscription_(endpoint, tls, timeouts, lock_key_) {}

void Inspector::interests(std::vector<os::Interest>& out) const {
  link_.interests(out);
  subscription_.interests(out);
}

lock::Instant Inspector::deadline() const {
  return std::min(link_.deadline(), subscription_.deadline());
}

void Inspector::start(lock::Instant now) {
  ask(Question::first_time, now);
}

void Inspector::sweep(Remains remains, lock::Instant now) {
  sweeping_ = remains;
  finished_ = false;
  ask(Question::sweep, now);
}

/// The requests for the lock went over another connection: a server that wakes up may read either
/// connection first.
std::string Inspector::encode_taking() const {
  const auto life = std::chrono::milliseconds(kSweptFor).count();
  return encode_command({"SET", lock_key_, "swept", "PX", std::to_string(life)});
}

void Inspector::ask(Question question, lock::Instant now) {
  std::string wire;
  unsigned replies = 1;
  switch (question) {
    case Question::first_time:
    case Question::time:
    case Question::last_time:
      wire = encode_command({"TIME"});
      break;
    case Question::info:
      wire = encode_command({"INFO"});
      break;
    case Question::appendfsync:
      wire = encode_command({"CONFIG", "GET", "appendfsync"});
      break;
    case Question::permissions:
      wire = encode_command({"EVAL", scripts::permissions, "4", lock_key_, holder_key_, fence_key_,
                             dead_key_, channel_});
      break;
    case Question::subscribe:
      wire = encode_command({"SUBSCRIBE", channel_});
      break;
    case Question::log:
      wire = encode_command({"EVAL", scripts::permissions, "1", log_key_});
      break;
    case Question::queue:
      wire = encode_command({"EVAL", scripts::permissions, "4", helper_key(lock_key_, "queue"),
                             helper_key(lock_key_, "alive"), helper_key(lock_key_, "waiters"),
                             helper_key(lock_key_, "turn"), wake_channel(lock_key_, ""), "queue"});
      break;
    case Question::sharded_publish:
      wire = encode_command({"EVAL", scripts::permissions, "1", lock_key_, channel_, "sharded"});
      break;
    case Question::sharded_subscribe:
      wire = encode_command({"SSUBSCRIBE", channel_});
      break;
    case Question::sweep:
      if (sweeping_ == Remains::expected) {
        wire = encode_taking();
        ++replies;
      }
      wire += encode_command({"DEL", holder_key_, fence_key_});
      break;
  }
  Link& link = subscribes(question) ? subscription_ : link_;
  link.ask({.round = static_cast<std::uint32_t>(question)}, {std::move(wire), replies}, now);
}

void Inspector::turn(lock::Instant now) {
  std::vector<Link::Arrival> arrivals = link_.turn(now);
  std::ranges::move(subscription_.turn(now), std::back_inserter(arrivals));
  for (Link::Arrival& arrival : arrivals) {
    if (finished_) return;  // the answer came too late
    const auto question = static_cast<Question>(arrival.ask.round);
    if (sweeping_ && question != Question::sweep) continue;  // it came too late, too
    auto* trouble = std::get_if<lock::Unreachable>(&arrival.content);
    if (trouble != nullptr && subscribes(question)) {
      finished_ = true;  // these questions are optional
    } else if (trouble != nullptr) {
      finish(std::move(*trouble));
    } else {
      take(question, std::get<Value>(arrival.content), now - arrival.sent, now);
    }
  }
}

void Inspector::take(Question question, const Value& reply, lock::Duration round_trip,
                     lock::Instant now) {
  switch (question) {
    case Question::first_time:
      if (!is_bearable(reply)) return finish(error_reply(reply.text));
      inspection_.certificate_expires = link_.certificate_expires();
      if (const Endpoint& place = link_.place(); place.kind == Endpoint::Kind::tcp) {
        inspection_.place = Address{place.host, place.port}.display();
      }
      return ask(Question::time, now);  // the first answer also had to wait for the connection
    case Question::time:
      take_time(reply, round_trip);
      return ask(Question::last_time, now);
    case Question::last_time:
      take_time(reply, round_trip);
      return ask(Question::info, now);
    case Question::info:
      if (reply.type == Value::Type::string) inspection_.info = fields_of(reply.text);
      return ask(Question::appendfsync, now);
    case Question::appendfsync:
      if (reply.type == Value::Type::array && reply.elements.size() == 2) {
        inspection_.appendfsync = reply.elements[1].text;
      }
      return ask(Question::permissions, now);
    case Question::permissions:
      if (reply.type != Value::Type::array) inspection_.scripts_refused = unexpected_reply(reply);
      for (const Value& command : reply.elements) inspection_.denied.push_back(command.text);
      return ask(Question::subscribe, now);
    case Question::subscribe:
      take_subscription(reply);
      return ask(Question::log, now);
    case Question::log:
      inspection_.may_log = reply.type == Value::Type::array && reply.elements.empty();
      return ask(Question::queue, now);
    case Question::queue:
      inspection_.may_queue = reply.type == Value::Type::array && reply.elements.empty();
      if (in_cluster_) return ask(Question::sharded_publish, now);
      break;
    case Question::sharded_publish:
      for (const Value& command : reply.elements) {
        inspection_.denied_sharded.push_back(command.text);
      }
      return ask(Question::sharded_subscribe, now);
    case Question::sharded_subscribe:
      if (reply.text.starts_with("NOPERM")) inspection_.denied_sharded.emplace_back("ssubscribe");
      break;
    case Question::sweep:
      break;
  }
  finished_ = true;
}

void Inspector::take_time(const Value& reply, lock::Duration round_trip) {
  if (inspection_.round_trip && *inspection_.round_trip <= round_trip) return;
  inspection_.round_trip = round_trip;
  if (reply.type != Value::Type::array || reply.elements.size() != 2) return;
  const auto seconds = number(reply.elements[0]);
  const auto micros = number(reply.elements[1]);
  if (!seconds || !micros) return;
  const milliseconds theirs(*seconds * 1000 + *micros / 1000);
  // We assume that the server read its clock half a round trip ago.
  const auto ours = std::chrono::system_clock::now() - round_trip / 2;
  inspection_.ahead = theirs - std::chrono::duration_cast<milliseconds>(ours.time_since_epoch());
}

void Inspector::take_subscription(const Value& reply) {
  if (!reply.text.starts_with("NOPERM")) return;
  const bool channel = reply.text.find("channel") != std::string::npos;
  const std::string what = channel ? "&" : "subscribe";
  if (std::ranges::find(inspection_.denied, what) != inspection_.denied.end()) return;
  inspection_.denied.push_back(what);
}

void Inspector::finish(lock::Unreachable why) {
  inspection_.trouble = std::move(why);
  finished_ = true;
}

}  // namespace redlock::redis
