// SPDX-License-Identifier: MIT
//
// The rows of config/table.cc whose value takes more than a line to read. Each function throws
// Error (64) with the expected form, as Row::parse does.
#pragma once

#include <string_view>

namespace redlock::config {

struct Draft;

/// A flag or an element of the file's array has one URI, the environment has several.
void add_servers(Draft& draft, std::string_view value);
void set_color(Draft& draft, std::string_view value);
void set_config_file(Draft& draft, std::string_view value);
void set_max_runtime(Draft& draft, std::string_view value);
/// /dev/null overrides a file that the environment or the configuration file names.
void set_metrics_file(Draft& draft, std::string_view value);
void set_prefix(Draft& draft, std::string_view value);
void set_progress(Draft& draft, std::string_view value);
void set_record_command(Draft& draft, std::string_view value);
void set_tls_insecure(Draft& draft, std::string_view value);
void set_tls_sni(Draft& draft, std::string_view value);
void set_ttl(Draft& draft, std::string_view value);
/// flock(1)'s -u: says that there is nothing to unlock.
void refuse_unlock(Draft& draft, std::string_view value);

}  // namespace redlock::config
