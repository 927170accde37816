// SPDX-License-Identifier: MIT
#include "diag/holder.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace redlock::diag {

namespace {

constexpr std::size_t kMostCommandBytes = 200;

std::string text_of(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

long long number_of(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_integer() ? found->get<long long>() : 0;
}

/// "root@web1 (pid 4711, ./backup.sh)"
std::string person(const nlohmann::json& holder) {
  return fmt::format("{}@{} (pid {}, {})", printable(text_of(holder, "user"), 64),
                     printable(text_of(holder, "host"), 64), number_of(holder, "pid"),
                     printable(text_of(holder, "command"), kMostCommandBytes));
}

std::chrono::milliseconds unix_now() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::system_clock::now().time_since_epoch());
}

}  // namespace

std::string to_json(const Holder& holder) {
  const nlohmann::json object = {
      {"protocol", 1},
      {"host", holder.host},
      {"user", holder.user},
      {"pid", holder.pid},
      {"command", holder.command},
      {"since", holder.since.count()},
      {"ttl", holder.ttl.count()},
      {"servers", holder.servers},
  };
  return object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string shell_like(const std::vector<std::string>& argv) {
  constexpr std::string_view kPlain =
      "%+,-./0123456789:=@ABCDEFGHIJKLMNOPQRSTUVWXYZ_"
      "abcdefghijklmnopqrstuvwxyz";
  std::string line;
  for (const std::string& word : argv) {
    if (!line.empty()) line += ' ';
    const bool plain = !word.empty() && word.find_first_not_of(kPlain) == std::string::npos;
    line += plain ? word : "'" + word + "'";
    if (line.size() > kMostCommandBytes) break;
  }
  if (line.size() > kMostCommandBytes) {
    line.resize(kMostCommandBytes);
    line += "...";
  }
  return line;
}

std::string printable(std::string_view text, std::size_t most_bytes) {
  std::string clean(text.substr(0, most_bytes));
  std::replace_if(
      clean.begin(), clean.end(),
      [](char byte) { return static_cast<unsigned char>(byte) < 0x20 || byte == 0x7f; }, '?');
  if (text.size() > most_bytes) clean += "...";
  return clean;
}

std::string for_people(std::chrono::nanoseconds length) {
  using namespace std::chrono;
  const auto whole = duration_cast<seconds>(length).count();
  if (whole >= 3600) return fmt::format("{}h {}m", whole / 3600, whole % 3600 / 60);
  if (whole >= 60) return fmt::format("{}m {}s", whole / 60, whole % 60);
  const double seconds = std::max(duration<double>(length).count(), 0.0);
  return seconds < 1 ? fmt::format("{:.3g} ms", seconds * 1000) : fmt::format("{:.3g} s", seconds);
}

std::string describe(const lock::Refused& refusal) {
  const bool cooling = refusal.blocker.starts_with("cooling:");
  std::string who = cooling ? "cooling down after " : "held by ";
  const nlohmann::json object = nlohmann::json::parse(refusal.holder, nullptr, false);
  if (object.is_object()) {
    who += person(object);
    const std::chrono::milliseconds since(number_of(object, "since"));
    if (since.count() > 0 && since < unix_now()) {
      who += (cooling ? ", begun " : " for ") + for_people(unix_now() - since);
      who += cooling ? " ago" : "";
    }
  } else if (refusal.blocker.starts_with("type:")) {
    who += fmt::format("a key of another program (a Redis {}, not a lock of redlock's)",
                       printable(std::string_view(refusal.blocker).substr(5), 20));
  } else {
    who += cooling ? "a run (which says nothing about itself)"
                   : "another program (its key says nothing about itself)";
  }
  if (!refusal.ttl_left) {
    who += "; it never expires by itself";
  } else {
    who += cooling ? "; free in " : "; unless renewed it expires in ";
    who += for_people(*refusal.ttl_left);
  }
  return who;
}

std::string describe(const lock::Done& done) {
  const nlohmann::json object = nlohmann::json::parse(done.who, nullptr, false);
  return fmt::format("done by {}, begun {} ago",
                     object.is_object() ? person(object) : std::string("somebody"),
                     for_people(done.age));
}

}  // namespace redlock::diag
