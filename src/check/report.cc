// SPDX-License-Identifier: MIT
#include "check/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace redlock::check {

namespace {

constexpr std::size_t kIndent = 2;
constexpr std::size_t kLevel = 7;  ///< columns of the longest word for a level
constexpr std::size_t kGap = 2;    ///< between the columns
/// With less room beside its check, a text begins below it.
constexpr std::size_t kLeastText = 30;
constexpr std::string_view kSeparator = "; ";  ///< see Finding::text

diag::Tint tint_of(Level level) {
  if (level == Level::ok) return diag::Tint::good;
  return level == Level::warning ? diag::Tint::notice : diag::Tint::bad;
}

/// A finding's text in two: the fact, and what to do about it.
struct Parts {
  std::string fact;
  std::string remedy;  ///< may be empty
};

Parts parts_of(const Finding& finding, const diag::Screen& screen) {
  std::string text = diag::for_screen(finding.text, screen);
  const std::size_t at = finding.level == Level::ok ? text.npos : text.find(kSeparator);
  if (screen.width == diag::kNoLimit || at == text.npos) return {std::move(text), {}};
  return {text.substr(0, at), text.substr(at + kSeparator.size())};
}

/// The lines of one finding: on a terminal one line with the fact, cut to the width, and below it
/// what to do, complete. `checks`: the columns for the name of the check.
std::string lines_of(const Finding& finding, std::size_t checks, const diag::Screen& screen) {
  const std::string word(word_for(finding.level));
  std::string out(kIndent, ' ');
  out += diag::paint(word, tint_of(finding.level), screen);
  out += fmt::format("{:{}}{:{}}", "", kLevel - word.size() + kGap, finding.check, checks);
  std::size_t left = kIndent + kLevel + kGap + checks + kGap;
  const bool limited = screen.width != diag::kNoLimit;
  if (limited && left + kLeastText > screen.width) {
    out.erase(out.find_last_not_of(' ') + 1).append("\n");
    left = 2 * kIndent;
    out.append(left, ' ');
  } else {
    out.append(kGap, ' ');
  }
  const std::size_t room = limited ? screen.width - left : screen.width;
  const Parts parts = parts_of(finding, screen);
  out += diag::cut(parts.fact, room, screen.charset) + "\n";
  if (parts.remedy.empty()) return out;
  // A word that is longer than the screen is not cut either: it may have to be copied.
  std::string_view mark = screen.charset == diag::Charset::utf8 ? "→ " : "> ";
  for (const std::string& line : diag::wrap(parts.remedy, room)) {
    out.append(left - kGap, ' ').append(std::exchange(mark, "  ")).append(line).append("\n");
  }
  return out;
}

std::string heading_of(const std::string& server, const diag::Screen& screen) {
  const std::string text = server.empty() ? "all servers" : diag::for_screen(server, screen);
  return diag::cut(text, screen.width, screen.charset) + "\n";
}

std::string counted(std::size_t number, std::string_view thing) {
  return fmt::format("{} {}{}", number, thing, number == 1 ? "" : "s");
}

}  // namespace

std::string_view word_for(Level level) {
  if (level == Level::ok) return "ok";
  return level == Level::warning ? "warning" : "failure";
}

Totals count(const std::vector<Finding>& findings) {
  Totals totals;
  for (const Finding& finding : findings) {
    if (finding.level == Level::warning) ++totals.warnings;
    if (finding.level > Level::warning) ++totals.failures;
  }
  return totals;
}

std::string as_report(const std::vector<Finding>& findings, Shown shown, std::size_t usable,
                      std::size_t servers, ExitStatus status, const diag::Screen& screen) {
  std::vector<const Finding*> chosen;
  std::size_t checks = 0;
  for (const Finding& finding : findings) {
    if (shown == Shown::problems && finding.level == Level::ok) continue;
    chosen.push_back(&finding);
    checks = std::max(checks, finding.check.size());
  }
  // The findings come server by server, except those of the trial.
  std::string out;
  std::vector<std::string> done;
  for (const Finding* first : chosen) {
    if (std::ranges::find(done, first->server) != done.end()) continue;
    done.push_back(first->server);
    out += heading_of(first->server, screen);
    for (const Finding* finding : chosen) {
      if (finding->server == first->server) out += lines_of(*finding, checks, screen);
    }
  }
  const Totals totals = count(findings);
  const Level worst = totals.failures > 0   ? Level::outage
                      : totals.warnings > 0 ? Level::warning
                                            : Level::ok;
  std::string sum =
      fmt::format("{} of {} usable, {}, {}", usable, counted(servers, "server"),
                  counted(totals.failures, "failure"), counted(totals.warnings, "warning"));
  if (status == ExitStatus::unavailable) sum += "; redlock cannot take a lock";
  for (const std::string& line : diag::wrap(sum, screen.width)) {
    out += diag::paint(line, tint_of(worst), screen) + "\n";
  }
  return out;
}

}  // namespace redlock::check
