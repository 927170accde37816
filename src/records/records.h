// SPDX-License-Identifier: MIT
//
// What servers store about the holders of a lock: the record beside the lock, the note of a
// revocation, and the lines of the log. And JSON as redlock prints it with --json.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lock/effect.h"
#include "lock/protocol.h"

namespace redlock::records {

/// The part of a command that is stored and shown is at most this long.
inline constexpr std::size_t kMostCommandBytes = 200;
/// The same for a message, with the dots that end one that was cut.
inline constexpr std::size_t kMostMessageBytes = 203;

/// The holder of a lock, as its servers store it. Two decisions depend on it: a forced release
/// waits for no job if this is a maintenance hold, and --replace replaces no such hold and no newer
/// build. Whoever can write a false record can also delete the lock.
struct Holder {
  std::string host;
  std::string user;
  long pid = 0;
  std::string command{};     ///< empty: not recorded
  std::string message{};     ///< why it took the lock, in its own words; empty: it does not say
  std::uint64_t build = 0;   ///< --build; 0: none
  bool maintenance = false;  ///< redlock hold: no process holds the lock, and it ends by itself
  bool shared = false;       ///< a reader, or a job in a slot: not the only one that holds the lock
  bool unattended = false;   ///< redlock acquire without --keep-for: no redlock renews the lock
  bool unwarned = false;     ///< its keeper has no --on-lost-signal: a loss stops no process
  bool replaces = false;     ///< of a revocation: by --replace
  /// When the holder sent the request that got the lock: Unix time by the holder's clock.
  std::chrono::milliseconds since{};
  std::chrono::milliseconds ttl{};
  std::string list{};  ///< the holder's servers: see diag/server_list.h; empty: not known
  long long protocol = lock::kProtocol;
};

/// The holder as JSON, as in redlock-protocol(7). Bytes that are not UTF-8 are replaced.
std::string to_json(const Holder& holder);
Holder since_now(Holder holder);

/// Reads what to_json() writes, but from a server, so that nothing in it can be trusted. A missing
/// field is empty or 0. None if the text is not a JSON object.
std::optional<Holder> read_holder(std::string_view json);

/// What a user wrote as a message, in one line, without control characters, and cut.
std::string as_message(std::string_view text);

/// A command line as a person would type it, cut at `most` bytes.
std::string shell_like(const std::vector<std::string>& argv, std::size_t most = kMostCommandBytes);

/// The value that the key of a lock with this token gets when `by` revokes the lock (host, user,
/// pid and since; redlock-protocol(7)): less than 600 bytes.
std::string revoked_value(std::string_view token, const Holder& by);

/// Who revokes the lock, by the value of its key. Untrusted. None if the lock is not revoked, or
/// the value does not say by whom.
std::optional<Holder> read_revocation(std::string_view value);

/// Reads a notice for the holder: "revoked" and the same note. None if it is another notice.
std::optional<Holder> revocation_in_notice(std::string_view text);

/// A line of a lock's log, without its time and its event. Every line is complete in itself: the
/// line for the end of a run says everything about the run.
struct LogEntry {
  /// host, user, pid, command, message, maintenance (and then the ttl), shared and unattended
  Holder who;
  std::uint64_t fence = 0;                            ///< 0 without one
  std::optional<std::chrono::milliseconds> waited{};  ///< from the first request to the win
  std::optional<std::chrono::milliseconds> held{};    ///< from the win to this line
  std::optional<int> status{};                        ///< the exit status of the job
  std::string reason{};  ///< why the job was stopped, or how the lock was lost; empty: neither
};

/// A run that gave up because another one had the lock, without the host and the times.
struct Refused {
  std::string user;
  std::string command;
  std::string held_by;  ///< "USER@HOST (WORK)", or empty
};

/// As JSON, as in redlock-protocol(7).
std::string to_json(const Refused& refused);
std::optional<Refused> read_refused(std::string_view json);

/// The host as encode_refuse() wants it.
std::string as_field(std::string_view host);

/// The name of the event in the log: "acquired", "released"…
std::string_view word_for(lock::Log::Event event);

LogEntry log_entry(const lock::Log& log, const Holder& who);

/// The maintenance hold that the end of this run leaves (--hold-on-failure), from now on. Its
/// message: "exit 1 of ./deploy.sh by root@ci7", and that of the run.
Holder hold_after(const lock::Log& log, Holder who);

/// The line as JSON, as in redlock-protocol(7). Bytes that are not UTF-8 are replaced.
std::string to_json(const LogEntry& entry);

/// The same for a line of the log. A field that is missing or out of range is empty, 0 or none.
std::optional<LogEntry> read_log_entry(std::string_view json);

/// A value as redlock prints it, kept as its text: indented, in ASCII, keys in the order given.
class Json {
 public:
  Json() : text_("null") {}
  // NOLINTBEGIN(google-explicit-constructor): members are written as {"name", value}.
  Json(std::nullptr_t) : Json() {}
  Json(std::same_as<bool> auto value) : text_(value ? "true" : "false") {}
  template <std::integral Number>
  requires(!std::same_as<Number, bool>) Json(Number number) : text_(std::to_string(number)) {}
  /// The shortest text that reads back as the same number; null if it is not finite.
  Json(double number);
  /// Whatever text others have written, the result is printable(): a character that is not ASCII
  /// becomes \uXXXX, and bytes that are not UTF-8 become U+FFFD.
  Json(std::string_view text);
  Json(const std::string& text) : Json(std::string_view(text)) {}
  Json(const char* text) : Json(std::string_view(text)) {}
  /// Null if the value is missing.
  template <class Value>
  Json(const std::optional<Value>& value) : Json(value ? Json(*value) : Json()) {}
  // NOLINTEND(google-explicit-constructor)

  using Member = std::pair<std::string_view, Json>;
  static Json object(const std::vector<Member>& members);
  static Json array(const std::vector<Json>& elements);

  /// The text to print. It ends with a line break.
  [[nodiscard]] std::string output() const { return text_ + "\n"; }

 private:
  std::string text_;
};

}  // namespace redlock::records
