// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace redlock::redis {

/// What AUTH sends. Both empty: no AUTH. An empty user is the default user; a user without a
/// password (`redis://backup:@db1`) gets it from elsewhere (--password-file) or has none (nopass),
/// and AUTH is sent all the same: a request must never run under another user than the one named.
struct Credentials {
  std::string user;
  std::string password;

  [[nodiscard]] bool given() const { return !user.empty() || !password.empty(); }
};

}  // namespace redlock::redis
