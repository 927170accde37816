// SPDX-License-Identifier: MIT
#include "config/draft.h"

namespace redlock::config {

std::string place(const Row& row, const Draft& draft, Source source) {
  switch (source.origin) {
    case Origin::flag:
      return flag_name(row);
    case Origin::environment:
      return row.environment;
    case Origin::file:
      return draft.config_file + ":" + std::to_string(source.line) + ": " + file_key(row);
    case Origin::built_in:
      break;
  }
  return std::string(row.name);
}

void store(const Row& row, Draft& draft, std::string_view value, Source source) {
  try {
    row.parse(draft, value);
  } catch (const Error& error) {
    throw Error(status_of(source.origin), place(row, draft, source) + ": " + error.what());
  }
  Draft::Given& given = draft.of(row.key);
  given.source = source;
  if (row.type != Type::secret && row.type != Type::uri_list) given.text = value;
}

ExitStatus status_of(Origin origin) {
  return origin == Origin::flag ? ExitStatus::usage : ExitStatus::config;
}

}  // namespace redlock::config
