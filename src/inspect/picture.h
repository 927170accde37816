// SPDX-License-Identifier: MIT
//
// Draws the history of locks as SVG (https://www.w3.org/TR/SVG11/), alone or in a page of HTML. The
// text stands for itself: it fetches nothing, contains no script, and follows the reader's choice
// of light or dark. Positions are percentages and texts have a fixed size, so it is as wide as the
// window. Absent on purpose: the files that it is written to.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "inspect/history_view.h"

namespace redlock::inspect {

/// Unix time.
struct Span {
  std::chrono::milliseconds begin;
  std::chrono::milliseconds end;  ///< later than `begin`; now
};

/// A picture of the runs of all `views`, one lane for each lock. Times are local.
std::string as_svg(const std::vector<HistoryView>& views, Span span);

/// The same in a page, with a table of the runs below it.
std::string as_html(const std::vector<HistoryView>& views, Span span);

/// Text of others as the content of an element or of a quoted attribute.
std::string escaped(std::string_view text);

}  // namespace redlock::inspect
