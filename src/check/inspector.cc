// SPDX-License-Identifier: MIT
#include "check/inspector.h"

#include <algorithm>
#include <utility>

#include "config/value.h"
#include "redis/requests/answer.h"
#include "redis/requests/keys.h"
#include "redis/requests/request.h"
#include "redis/requests/scripts.h"
#include "redis/wire/trouble.h"

namespace redlock::check {
namespace {

using std::chrono::milliseconds;

/// Further ones, to a server whose name may stand for several.
constexpr std::size_t kConnections = 8;

/// An error to a harmless command that still leaves the server usable.
bool is_bearable(const redis::Value& reply) {
  return reply.type != redis::Value::Type::error || reply.text.starts_with("NOPERM") ||
         reply.text.find("unknown command") != std::string::npos;
}

std::map<std::string, std::string, std::less<>> fields_of(std::string_view text) {
  std::map<std::string, std::string, std::less<>> fields;
  for (std::string_view line : config::parts_of(text, "\n")) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || line.starts_with('#')) continue;
    fields.emplace(line.substr(0, colon), line.substr(colon + 1));
  }
  return fields;
}

}  // namespace

std::string Inspection::field(std::string_view name) const {
  const auto found = info.find(name);
  return found == info.end() ? std::string() : found->second;
}

Inspector::Inspector(redis::Questions& questions, std::size_t server, std::string lock_key,
                     bool redisson)
    : questions_(questions),
      server_(server),
      lock_key_(std::move(lock_key)),
      steps_(all_steps(redisson)) {}

std::vector<Inspector::Step> Inspector::all_steps(bool redisson) {
  const redis::Endpoint place = questions_.place(server_);
  // A connection with a subscription takes no other requests.
  const std::size_t listening = questions_.connect_like(server_, place);
  for (const std::size_t each : {server_, listening}) questions_.go_to(each, lock_key_);
  const auto helper = [this](std::string_view part) { return redis::helper_key(lock_key_, part); };
  const auto ask_if_permitted = [](std::vector<std::string> keys,
                                   std::vector<std::string> words = {}) {
    return redis::Command{&redis::scripts::permissions, std::move(keys), std::move(words)};
  };
  const std::string channel = redis::notice_channel(lock_key_, "");  // of the lock's holder
  const redis::Command time{.words = {"TIME"}};
  const auto take_time_of = [this](const redis::Value& reply, lock::Duration took) {
    take_time(reply, took);
  };
  const auto none_denied = [](const redis::Value& reply) {
    return reply.type == redis::Value::Type::array && reply.elements.empty();
  };
  std::vector<Step> steps = {
      // The first answer also has to wait for the connection.
      {server_, time, [this](auto&, auto) { take_place(); }, &Inspection::no_time},
      {server_, time, take_time_of, &Inspection::no_time},
      {server_, time, take_time_of, &Inspection::no_time},
      {server_,
       ask_if_permitted({lock_key_, helper("holder"), helper("fence"), helper("dead")}, {channel}),
       [this](auto& reply, auto) { take_permissions(reply); }, &Inspection::trouble},
      {server_,
       {.words = {"INFO"}},
       [this](auto& reply, auto) {
         if (reply.type == redis::Value::Type::string) inspection_.info = fields_of(reply.text);
       },
       &Inspection::no_info},
      {server_,
       {.words = {"CONFIG", "GET", "appendfsync"}},
       [this](auto& reply, auto) {
         const bool pair = reply.type == redis::Value::Type::array && reply.elements.size() == 2;
         if (pair) inspection_.appendfsync = reply.elements[1].text;
       }},
      {listening,
       {.words = {"SUBSCRIBE", channel}},
       [this](auto& reply, auto) { take_subscription(reply); },
       &Inspection::no_messages},
      {server_, ask_if_permitted({helper("log")}),
       [=, this](auto& reply, auto) { inspection_.may_log = none_denied(reply); }},
      {server_,
       ask_if_permitted({helper("queue"), helper("alive"), helper("waiters"), helper("turn")},
                        {redis::wake_channel(lock_key_, ""), "queue"}),
       [=, this](auto& reply, auto) { inspection_.may_queue = none_denied(reply); }}};
  for (const char* const option : {"newest", "build"}) {
    steps.push_back(
        {server_, ask_if_permitted({helper(option)}, {"", "option"}), [=, this](auto& reply, auto) {
           if (!none_denied(reply)) inspection_.denied_options.emplace_back(option, helper(option));
         }});
  }
  const auto add_to = [](std::vector<std::string>& denied) {
    return [&denied](const redis::Value& reply, auto) {
      for (const redis::Value& command : reply.elements) denied.push_back(command.text);
    };
  };
  if (redisson) {
    // Nobody is subscribed to a channel that ends so.
    steps.push_back({server_,
                     ask_if_permitted({lock_key_}, {redis::redisson_channel(lock_key_) + ":",
                                                    "redisson", redis::redisson_queue(lock_key_)}),
                     add_to(inspection_.denied_redisson)});
  }
  // A name may have several addresses, and an address may be a balancer's.
  redis::Endpoint again = place;
  for (again.first = 1; place.kind == redis::Endpoint::Kind::tcp && again.first <= kConnections;
       ++again.first) {
    steps.push_back({questions_.connect_like(server_, again),
                     {.words = {"INFO", "server"}},
                     [this](auto& reply, auto) {
                       auto fields = fields_of(reply.text);
                       inspection_.run_ids.push_back(std::move(fields["run_id"]));
                     }});
  }
  if (place.kind != redis::Endpoint::Kind::cluster) return steps;
  std::vector<std::string>& denied = inspection_.denied_sharded;
  steps.push_back({server_, ask_if_permitted({lock_key_}, {channel, "sharded"}), add_to(denied)});
  steps.push_back({listening, {.words = {"SSUBSCRIBE", channel}}, [&denied](auto& reply, auto) {
                     if (reply.text.starts_with("NOPERM")) denied.emplace_back("ssubscribe");
                   }});
  return steps;
}

void Inspector::ask(std::size_t step, lock::Instant now) {
  if (inspection_.trouble || step == steps_.size()) return;
  const auto take = [this, step](const redis::Questions::Answer& answer, lock::Instant later) {
    if (const auto* silence = answer.silence()) {
      return pass(step, *silence, later);
    }
    const redis::Value& reply = answer.reply();
    if (step == 0 && !is_bearable(reply)) return pass(step, redis::error_reply(reply.text), later);
    steps_[step].take(reply, answer.took);
    ask(step + 1, later);
  };
  questions_.ask(steps_[step].connection, {{steps_[step].command}}, take, now);
}

/// Goes on without an answer.
void Inspector::pass(std::size_t step, lock::Unreachable why, lock::Instant now) {
  const auto place = steps_[step].unanswered;
  if (place == &Inspection::trouble && inspection_.no_time) why = *inspection_.no_time;
  if (place != nullptr) inspection_.*place = std::move(why);
  do {
    ++step;
  } while (place == &Inspection::no_time && steps_[step].unanswered == place);
  ask(step, now);
}

/// The requests for the lock went over another connection, and a server that wakes up may read
/// either connection first. So we take the lock's key, if requests are still expected.
void Inspector::sweep(Remains remains, lock::Instant now) {
  redis::Flight flight;
  if (remains == Remains::expected) {
    const auto life = std::chrono::milliseconds(kSweptFor).count();
    flight.commands.push_back({.words = {"SET", lock_key_, "swept", "PX", std::to_string(life)}});
  }
  flight.commands.push_back({.words = {"DEL", redis::helper_key(lock_key_, "holder"),
                                       redis::helper_key(lock_key_, "fence")}});
  const auto take = [this](const redis::Questions::Answer& answer, lock::Instant) {
    if (const auto* silence = answer.silence()) {
      inspection_.trouble = inspection_.no_time.value_or(*silence);
    }
  };
  questions_.ask(server_, std::move(flight), take, now);
}

void Inspector::take_place() {
  const redis::Link& link = questions_.link(server_);
  inspection_.certificate_expires = link.certificate_expires();
  if (const redis::Endpoint& place = link.place(); place.kind == redis::Endpoint::Kind::tcp) {
    inspection_.place = place.address.display();
  }
}

void Inspector::take_time(const redis::Value& reply, lock::Duration round_trip) {
  if (inspection_.round_trip && *inspection_.round_trip <= round_trip) return;
  inspection_.round_trip = round_trip;
  if (reply.type != redis::Value::Type::array || reply.elements.size() != 2) return;
  const auto seconds = redis::read_number(reply.elements[0]);
  const auto micros = redis::read_number(reply.elements[1]);
  constexpr std::uint64_t kYear2200 = 7'258'118'400;  // no overflow, in nanoseconds either
  if (!seconds || !micros || *seconds > kYear2200 || *micros > kYear2200) return;
  const milliseconds theirs(*seconds * 1000 + *micros / 1000);
  // We assume that the server read its clock half a round trip ago.
  const auto ours = std::chrono::system_clock::now() - round_trip / 2;
  inspection_.ahead = theirs - std::chrono::duration_cast<milliseconds>(ours.time_since_epoch());
}

void Inspector::take_permissions(const redis::Value& reply) {
  if (reply.type != redis::Value::Type::array) {
    // A server that answers no question gives its reason at the first one.
    (inspection_.no_time ? inspection_.trouble : inspection_.scripts_refused) =
        inspection_.no_time.value_or(redis::unexpected_reply(reply));
  }
  for (const redis::Value& command : reply.elements) inspection_.denied.push_back(command.text);
}

void Inspector::take_subscription(const redis::Value& reply) {
  if (reply.type != redis::Value::Type::error) return;
  if (!is_bearable(reply)) {
    inspection_.no_messages = redis::error_reply(reply.text);
    return;
  }
  const bool no_channel =
      reply.text.starts_with("NOPERM") && reply.text.find("channel") != std::string::npos;
  const std::string what = no_channel ? "&" : "subscribe";
  if (std::ranges::find(inspection_.denied, what) != inspection_.denied.end()) return;
  inspection_.denied.push_back(what);
}

}  // namespace redlock::check
