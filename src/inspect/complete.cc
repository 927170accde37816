// SPDX-License-Identifier: MIT
#include "inspect/complete.h"

#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "driver/output.h"
#include "error.h"
#include "inspect/query.h"
#include "redis/requests/keys.h"

namespace redlock::inspect {
namespace {

bool valid_name(const std::string& name) {
  try {
    redis::check_lock_name(name);
    return true;
  } catch (const Error&) {
    return false;
  }
}

std::vector<std::string> lock_names(config::Settings settings) {
  using namespace std::chrono_literals;
  settings.server_timeout = std::min<std::chrono::milliseconds>(settings.server_timeout, 500ms);
  // Somebody waits in front of the shell. Names that come later are of no use; without any output,
  // the shell offers nothing.
  ::alarm(2);
  try {
    Query query(settings);
    return query.names(Query::Which::held);
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

Exit complete(const cli::Complete& request) {
  cli::Completion completion = request.completion;
  if (request.settings) {
    for (std::string& name : lock_names(*request.settings)) {
      if (name.starts_with(request.word) && valid_name(name)) {
        completion.candidates.push_back({std::move(name), ""});
      }
    }
  }
  return driver::print(to_text(completion), ExitStatus::ok);
}

}  // namespace redlock::inspect
