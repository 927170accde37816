// SPDX-License-Identifier: MIT
#pragma once

namespace redlock::lock {

/// Several lambdas as one visitor for std::visit.
template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

}  // namespace redlock::lock
