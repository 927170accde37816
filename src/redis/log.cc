// SPDX-License-Identifier: MIT
#include "redis/log.h"

#include "redis/keys.h"
#include "redis/resp.h"
#include "redis/scripts.h"

namespace redlock::redis {

std::string encode_log(std::string_view lock_key, const LogLine& line, unsigned most) {
  return encode_command({"EVAL", scripts::log, "1", helper_key(lock_key, "log"), line.event,
                         line.token, line.data, std::to_string(most)});
}

}  // namespace redlock::redis
