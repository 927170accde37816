// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace redlock::redis {

/// The user and password for AUTH. Both empty: no AUTH. An empty user is the default user. A user
/// without a password here (`redis://backup:@db1`) gets one from elsewhere (--password-file) or
/// needs none (nopass). AUTH is sent all the same: a request must never run as another user than
/// this one.
struct Credentials {
  std::string user;
  std::string password;

  [[nodiscard]] bool given() const { return !user.empty() || !password.empty(); }
};

}  // namespace redlock::redis
