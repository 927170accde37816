// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace redlock::diag {

/// "root@web1", safe to print: the writer of the record of a holder or a revocation chose the text.
std::string person(std::string_view user, std::string_view host);

}  // namespace redlock::diag
