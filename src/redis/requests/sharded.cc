// SPDX-License-Identifier: MIT
#include "redis/requests/sharded.h"

#include <string>
#include <string_view>
#include <vector>

#include "redis/requests/scripts.h"
#include "redis/wire/resp.h"

namespace redlock::redis {
namespace {

std::string with_sharded_messages(std::string_view script) {
  return std::string(scripts::sharded).append("\n").append(script);
}

}  // namespace

Flight for_server(Flight flight, const Endpoint& endpoint) {
  if (endpoint.kind != Endpoint::Kind::cluster) return flight;
  if (flight.wire.find("PUBLISH") == std::string::npos) return flight;
  std::string wire;
  for (std::string_view rest = flight.wire; !rest.empty();) {
    std::string_view command = rest;
    std::vector<std::string_view> words = take_command(rest);
    command.remove_suffix(rest.size());
    std::string script;
    if (words.size() == 3 && words[0] == "PUBLISH") {
      script = with_sharded_messages(scripts::publish);
      words = {"EVAL", script, "0", words[1], words[2]};
    } else if (words.size() > 1 && words[0] == "EVAL" &&
               words[1].find("'PUBLISH'") != std::string_view::npos) {
      script = with_sharded_messages(words[1]);
      words[1] = script;
    }
    wire += script.empty() ? std::string(command) : encode_words(words);
  }
  flight.wire = std::move(wire);
  return flight;
}

}  // namespace redlock::redis
