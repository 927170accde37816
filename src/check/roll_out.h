// SPDX-License-Identifier: MIT
//
// Which list of servers each host uses, by the holders, the waiters and the logs, and whether the
// next step of a roll-out may begin (redlock-guarantees(7)).
#pragma once

#include <map>

#include "check/diagnosis.h"
#include "cli/command_line.h"
#include "observe/json.h"

namespace redlock::check {

/// What is known about a host. Untrusted.
struct HostSeen {
  std::chrono::milliseconds last;  ///< Unix time; of a holder or a waiter: now
  diag::Relation relation;         ///< of its last list to ours
  std::string list;
};

struct RollOut {
  diag::ServerList ours{};                  ///< what the others are compared with
  std::map<std::string, HostSeen> hosts{};  ///< by name
  std::vector<std::string> waits_for{};     ///< safe to print; empty: the next step may begin
  bool any_other = false;                   ///< another list was used, by a host that we know
  bool ours_is_step = false;  ///< lately, a list was used that always shares a server with ours

  /// "the next step may begin", or why it must wait.
  [[nodiscard]] std::string sentence() const;
  [[nodiscard]] bool is_on_its_way() const { return any_other && !waits_for.empty(); }
};

/// Collects what the servers know.
class RollOutSurvey {
 public:
  explicit RollOutSurvey(const config::Settings& settings);

  /// `now`: Unix time.
  void take(const observe::Observed& lock, std::chrono::milliseconds now);
  void take(const records::Holder& who, std::chrono::milliseconds at);
  /// `silent`: how many servers could not be asked about everything. `unread`: how many logs there
  /// was no time for.
  [[nodiscard]] RollOut result(std::size_t silent, std::size_t unread,
                               std::chrono::milliseconds now) const;

 private:
  const config::Settings& settings_;
  RollOut seen_;
  std::chrono::milliseconds others_until_{};  ///< before that moment, another list may matter
  std::chrono::milliseconds step_until_{};    ///< see RollOut::ours_is_step
};

/// What is said about the number of servers, the sentence, and a warning for each host whose list
/// need not share a server with ours.
std::vector<Finding> diagnose_lists(const RollOut& roll_out);

/// Asks all servers about the lock, or, without a name, about all locks. It reads their logs for a
/// few seconds, or longer if the user asks for details. Throws Error (71, 78).
RollOut survey(const cli::Check& request);

/// A table with a line for each host, which fits the screen.
std::string as_table(const RollOut& roll_out, const diag::Screen& screen);

records::Json to_json(const RollOut& roll_out);

}  // namespace redlock::check
