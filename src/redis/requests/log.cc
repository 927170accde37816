// SPDX-License-Identifier: MIT
#include "redis/requests/log.h"

#include "redis/requests/keys.h"
#include "redis/requests/scripts.h"
#include "redis/wire/resp.h"

namespace redlock::redis {

std::string encode_log(std::string_view lock_key, const LogLine& line, unsigned most) {
  return encode_command({"EVAL", scripts::log, "1", helper_key(lock_key, "log"), line.event,
                         line.token, line.data, std::to_string(most)});
}

}  // namespace redlock::redis
