// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace redlock::redis {

/// How to talk to `rediss://` servers. An empty text: not set.
struct TlsSettings {
  enum class Verify { server, nothing };
  std::string ca;      ///< a PEM file of trusted certificates; it and ca_dir replace the system's
  std::string ca_dir;  ///< a directory of such files, named by hash, as from openssl-rehash(1)
  std::string cert;    ///< our certificate (and its chain), if the server wants one
  std::string key;     ///< its key; empty: in the same file
  std::string sni;     ///< the name to ask for and to verify, in place of each URI's host
  Verify verify = Verify::server;
};

}  // namespace redlock::redis
