// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace redlock::diag {

/// How every sentence names a lock: `lock "deploy-shop"`, safe to print. Tables, headings (with the
/// line that shows a wait on a terminal) and JSON show the bare name.
std::string lock_name(std::string_view name);

}  // namespace redlock::diag
