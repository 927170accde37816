// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string_view>

namespace redlock::config {

struct NotToml {
  unsigned line;
  std::string_view why;  ///< holds nothing of the text
};

/// What keeps `text` from being handed to toml++, none if it may be parsed: it must have the shape
/// of TOML (https://toml.io/en/v1.0.0). toml++ 3.3 ends in an assertion on "[=" and "a=[}", and in
/// undefined behaviour on a bare key or an escape that is not ASCII. Whether a word is a number, a
/// text valid UTF-8, a key given twice, is left to toml++.
std::optional<NotToml> not_toml(std::string_view text);

}  // namespace redlock::config
