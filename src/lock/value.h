// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace redlock::lock {

/// What may stand in a lock's key (redlock-protocol(7)). Anybody may have written it.
struct Value {
  enum class Kind {
    token,    ///< a token, or what another program uses for one
    cooling,  ///< "cooling:TOKEN": the job is over, its minimum hold is not
    revoked,  ///< "revoked:TOKEN", or that with a blank and a note: it is being taken from its
              ///< holder
  };
  Kind kind = Kind::token;
  std::string_view token;  ///< whose lock it is, in every case; of readers: "shared:GENERATION"
  std::string_view note;   ///< who revoked it (JSON); empty if that is not known
};

/// The parts of a value, which live as long as `text` does.
Value read_value(std::string_view text);

/// Whether a Value::token, "shared:GENERATION", stands for the readers of a shared lock. Each
/// server may have another generation.
bool is_shared(std::string_view token);

/// A key may hold something that is not a value. Then "type:" and the name of its type stand for
/// it, as in Refused::blocker. type_of: that name; none: `text` is a value.
std::optional<std::string_view> type_of(std::string_view text);
std::string stand_in_for(std::string_view type);

}  // namespace redlock::lock
