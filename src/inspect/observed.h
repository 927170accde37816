// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/settings.h"
#include "exit_status.h"
#include "inspect/waiting.h"
#include "lock/judgement.h"
#include "records/holder.h"
#include "records/revocation.h"
#include "redis/observer.h"

namespace redlock::inspect {

/// All that is known of one lock, from all servers.
struct Observed {
  std::string name;
  std::vector<lock::Seen> seen;  ///< by server
  lock::Judgement judgement;
  std::optional<lock::Sighting> sighting;  ///< of one that agrees, with the holder if one knows it
  std::optional<records::Holder> holder;
  std::optional<records::Revocation> revocation;  ///< if it is revoked, and known by whom
  /// What is left of its time to live where it is held; none: it is not, or never expires there.
  std::optional<std::chrono::milliseconds> least_left;
  std::optional<std::chrono::milliseconds> most_left;
  std::optional<WaitingLine> waiting;  ///< none: it is not known who waits
  std::optional<lock::Done> last_run;  ///< with --once
};

/// `observations`: one for each configured server.
Observed observe(std::string name, std::vector<redis::Observation> observations);

/// Who stands in the way, by one server's word.
lock::Refused as_refusal(const lock::Sighting& sighting);

/// As in the tables and in JSON: "held", "free"…
std::string_view word_for(lock::State state);

/// What ought to make a person think: a holder that does not play by our rules.
std::vector<std::string> warnings_about(const Observed& lock, const std::string& our_fingerprint);

/// One server's view in a phrase, safe to print.
std::string describe_view(const Observed& lock, std::size_t server);

/// What redlock(1) describes under "What status and list print". `troubles`: by server, why it
/// could not be asked.
std::string to_json(const std::vector<Observed>& locks, const config::Settings& settings,
                    const std::vector<std::optional<std::string>>& troubles, ExitStatus status);

}  // namespace redlock::inspect
