// SPDX-License-Identifier: MIT
#include <string_view>

#include "sandbox/topologies.h"

namespace redlock::sandbox {
namespace {

std::string percent_encode(std::string_view path) {
  const std::string_view hex = "0123456789ABCDEF";
  std::string encoded;
  for (char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("/-._~").find(c) != std::string_view::npos;
    const auto byte = static_cast<unsigned char>(c);
    if (plain) {
      encoded += c;
    } else {
      encoded.append({'%', hex[byte >> 4U], hex[byte & 15U]});
    }
  }
  return encoded;
}

}  // namespace

Uris start_plain(SandboxServers& servers, int count, int stop) {
  std::vector<std::string> uris;
  for (int i = 0; i < count; ++i) {
    const std::size_t server = servers.start({.lines = "port 0\n"});
    uris.push_back("unix://" + percent_encode(servers.socket(server)));
  }
  for (std::size_t i = 0; i < uris.size(); ++i) {
    if (!servers.until(i, "PING\n", {"+PONG"}, stop)) return std::nullopt;
  }
  return uris;
}

}  // namespace redlock::sandbox
