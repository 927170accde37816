// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "config/table.h"

namespace redlock::config {

struct NotToml {
  unsigned line;
  std::string_view why;  ///< contains nothing of the text
};

/// The first violation of TOML's grammar (https://toml.io/en/v1.0.0) in `text`, if there is one.
/// Otherwise toml++ may parse it. toml++ 3.3 ends in an assertion on "[=" and "a=[}", and in
/// undefined behaviour on a bare key or an escape that is not ASCII. toml++ itself checks whether a
/// word is a number, a text is valid UTF-8, and each key occurs once.
std::optional<NotToml> not_toml(std::string_view text);

enum class Content { secret, settings };

/// Stores the values in `text`, the content of draft.config_file, for the settings that neither a
/// flag nor a variable has set. Returns whether the text contains a password. Throws Error (78)
/// with file and line for any mistake, except in the value of a setting that is set already.
Content read_toml(const std::string& text, Draft& draft);

}  // namespace redlock::config
