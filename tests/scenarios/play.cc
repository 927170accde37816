// SPDX-License-Identifier: MIT
//
// redlock_scenarios [--rewrite] FILE…
//
// Plays scenarios against the real src/lock and compares what comes out with what the file says. A
// file is a list of steps, each with what follows from it:
//
//   session servers=3 ttl=30s          what happens
//     0ms  A: acquire, attempt 1, …    what the session does about it
//
// Blank lines and those that begin with # belong to the reader. --rewrite puts what comes out into
// the files: read the difference before you commit it. README.md lists the steps.
//
// Prints one TAP line for each file. Exit status: 0 all as written, 1 not so, 64 usage.
#include <fstream>
#include <iostream>
#include <stdexcept>

#include "scenario.h"

namespace {

using Lines = std::vector<std::string>;

/// The lines of a file with what comes out in place of what was expected. Prints the differences.
Lines play(const Lines& lines) {
  redlock::scenarios::Scenario scenario;
  Lines played;
  for (auto line = lines.begin(); line != lines.end();) {
    const std::string& step = *line++;
    const auto expected = line;
    while (line != lines.end() && line->starts_with("  ")) ++line;
    Lines actual;
    const bool remark = step.empty() || step.front() == '#';
    if (!remark) actual = scenario.play(step);
    for (std::string& each : actual) each.insert(0, "  ");
    if (actual != Lines(expected, line)) {
      std::cout << "# " << step << "\n";
      for (auto each = expected; each != line; ++each) std::cout << "# expected:" << *each << '\n';
      for (const std::string& each : actual) std::cout << "# came out:" << each << '\n';
    }
    played.push_back(step);
    played.insert(played.end(), actual.begin(), actual.end());
  }
  return played;
}

/// True if the file is as it should be, or has been rewritten.
bool run(const std::string& path, bool rewrite) {
  try {
    std::ifstream in(path);
    if (!in) throw std::runtime_error("cannot read " + path);
    Lines lines;
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    const Lines played = play(lines);
    if (played == lines || !rewrite) return played == lines;
    std::ofstream out(path);
    for (const std::string& line : played) out << line << '\n';
    if (!out.flush()) throw std::runtime_error("cannot write " + path);
    return true;
  } catch (const std::exception& error) {
    std::cout << "# " << error.what() << '\n';
    return false;
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> paths(argv + 1, argv + argc);
  const bool rewrite = !paths.empty() && paths.front() == "--rewrite";
  if (rewrite) paths.erase(paths.begin());
  if (paths.empty()) {
    std::cerr << "usage: redlock_scenarios [--rewrite] FILE...\n";
    return 64;
  }
  std::cout << "1.." << paths.size() << '\n';
  bool all_same = true;
  for (std::size_t at = 0; at < paths.size(); ++at) {
    const bool same = run(paths[at], rewrite);
    all_same = all_same && same;
    std::cout << (same ? "ok " : "not ok ") << at + 1 << ' ' << paths[at] << std::endl;
  }
  return all_same ? 0 : 1;
}
