// SPDX-License-Identifier: MIT
#include "hold/renew.h"

#include <chrono>
#include <string>

#include "diag/lock_name.h"
#include "driver/output.h"
#include "error.h"
#include "hold/token_command.h"
#include "records/holder.h"
#include "records/json.h"

namespace redlock::hold {

namespace {

using std::chrono::milliseconds;

std::string to_json(const std::string& name, lock::Duration valid_for) {
  using Seconds = std::chrono::duration<double>;
  return records::Json::object(
             {{"name", name},
              {"valid_for_s", Seconds(std::chrono::floor<milliseconds>(valid_for)).count()}})
      .output();
}

}  // namespace

Exit renew(const cli::Renew& request) {
  const std::string token = read_token(request.token);
  const Possession possession = look_up(request.settings, request.name, token);
  config::Settings settings = request.settings;
  const auto holder = records::read_holder(possession.record);
  if (request.only_hold && possession.held && (!holder || !holder->maintenance)) {
    throw Error(ExitStatus::usage, diag::lock_name(request.name) +
                                       " is not a maintenance hold, and --for and --until are for "
                                       "those; give --ttl");
  }
  if (!request.has_ttl) settings.ttl = recorded_ttl(possession).value_or(settings.ttl);
  TokenCommand by_token(settings, possession, lock::Op::renew);
  const Exit result = by_token.run();
  if (result.status != 0 || !request.json) return result;
  return driver::print(to_json(request.name, by_token.valid_for()), ExitStatus::ok);
}

}  // namespace redlock::hold
