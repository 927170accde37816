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
#include <algorithm>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "scenario.h"

namespace {

using redlock::scenarios::Scenario;

constexpr std::string_view kIndent = "  ";

struct Step {
  std::vector<std::string> remarks;  ///< and blank lines, before the step
  std::string input;
  std::vector<std::string> expected;
};

struct Transcript {
  std::vector<Step> steps;
  std::vector<std::string> end;  ///< remarks after the last step
};

bool is_remark(const std::string& line) {
  return line.empty() || line.front() == '#';
}

Transcript read(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  Transcript transcript;
  for (std::string line; std::getline(file, line);) {
    if (is_remark(line)) {
      transcript.end.push_back(line);
    } else if (!line.starts_with(kIndent)) {
      transcript.steps.push_back({std::exchange(transcript.end, {}), line, {}});
    } else if (!transcript.steps.empty() && transcript.end.empty()) {
      transcript.steps.back().expected.push_back(line.substr(kIndent.size()));
    } else {
      throw std::runtime_error(path + ": this follows from no step: " + line);
    }
  }
  return transcript;
}

void write(const std::string& path, const Transcript& transcript) {
  std::ofstream file(path);
  for (const Step& step : transcript.steps) {
    for (const std::string& remark : step.remarks) file << remark << '\n';
    file << step.input << '\n';
    for (const std::string& line : step.expected) file << kIndent << line << '\n';
  }
  for (const std::string& remark : transcript.end) file << remark << '\n';
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

/// Plays the steps and puts what comes out in place of what was expected. Prints the differences.
bool play(Transcript& transcript) {
  Scenario scenario;
  bool same = true;
  for (Step& step : transcript.steps) {
    std::vector<std::string> actual = scenario.play(step.input);
    if (actual != step.expected) {
      same = false;
      std::cout << "# " << step.input << "\n";
      for (const std::string& line : step.expected) std::cout << "#   expected: " << line << '\n';
      for (const std::string& line : actual) std::cout << "#   came out: " << line << '\n';
    }
    step.expected = std::move(actual);
  }
  return same;
}

bool run(const std::string& path, bool rewrite) {
  try {
    Transcript transcript = read(path);
    const bool same = play(transcript);
    if (rewrite && !same) write(path, transcript);
    return same || rewrite;
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
    std::fputs("usage: redlock_scenarios [--rewrite] FILE...\n", stderr);
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
