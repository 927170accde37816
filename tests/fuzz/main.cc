// SPDX-License-Identifier: MIT
//
// redlock_fuzz TARGET [FILE] [OPTION…]: with libFuzzer, and its options. Looks for input that
// breaks a property, or tries the input in a file.
//
// redlock_fuzz [TARGET [FILE…]]: without libFuzzer. Tries all seeds, or those files.
//
// A line of seeds/TARGET is a seed, with the escapes \\, \n, \r, \t and \xHH.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "fuzz.h"
#include "os/printable.h"

#if defined(__SANITIZE_ADDRESS__) || defined(REDLOCK_LIBFUZZER)
#include <sanitizer/common_interface_defs.h>
#endif

namespace redlock::fuzz {
namespace {

struct Target {
  std::string_view name;
  void (*run)(std::string_view input);
};
constexpr Target kTargets[] = {{"uri", uri},
                               {"duration", duration},
                               {"moment", moment},
                               {"file", file},
                               {"held", held},
                               {"stage", stage},
                               {"metrics", metrics},
                               {"printable", printable},
                               {"holder", holder},
                               {"log_entry", log_entry},
                               {"notice", notice},
                               {"resp", resp},
                               {"answer", answer},
                               {"cluster", cluster},
                               {"sentinel", sentinel},
                               {"look", look},
                               {"subscriber", subscriber},
                               {"session", session}};

const Target* find_target(std::string_view name) {
  const auto* const found = std::ranges::find(kTargets, name, &Target::name);
  return found == std::end(kTargets) ? nullptr : found;
}

int terminal = STDERR_FILENO;  ///< where messages go
int memory = -1;               ///< what the targets write to standard error

/// From here on, what redlock says is not mixed with what this program says.
void part_stderr() {
  memory = ::memfd_create("stderr", MFD_CLOEXEC);
#if defined(__SANITIZE_ADDRESS__) || defined(REDLOCK_LIBFUZZER)
  __sanitizer_set_report_fd(reinterpret_cast<void*>(static_cast<std::intptr_t>(terminal)));
#endif
  ::dup2(memory, STDERR_FILENO);
}

void tell(const std::string& line) {
  static_cast<void>(::write(terminal, line.data(), line.size()) > 0);
}

std::string unescaped(std::string_view line) {
  std::string text;
  for (std::size_t at = 0; at < line.size(); ++at) {
    const char next = line[at] == '\\' && at + 1 < line.size() ? line[++at] : '\0';
    if (next == 'x') {
      text += static_cast<char>(std::stoi(std::string(line.substr(at + 1, 2)), nullptr, 16));
      at += 2;
    } else {
      text += next == '\0'  ? line[at]
              : next == 'n' ? '\n'
              : next == 'r' ? '\r'
              : next == 't' ? '\t'
                            : next;
    }
  }
  return text;
}

std::string escaped(std::string_view text) {
  std::string line;
  for (const char c : text) {
    char hex[8];
    std::snprintf(hex, sizeof hex, "\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
    if (c == '\\') {
      line += "\\\\";
    } else if (c == '\r' || c == '\n') {
      line += c == '\r' ? "\\r" : "\\n";
    } else {
      line += c < 0x20 || c > 0x7e ? std::string(hex) : std::string(1, c);
    }
  }
  return line;
}

std::vector<std::string> seeds_of(std::string_view target) {
  std::ifstream file(std::filesystem::path(REDLOCK_FUZZ_SEEDS) / target);
  std::vector<std::string> seeds{""};
  for (std::string line; std::getline(file, line);) seeds.push_back(unescaped(line));
  return seeds;
}

std::string_view current;  ///< the input of the target that runs

void run(const Target& target, std::string_view input) {
  current = input;
  target.run(input);
}

}  // namespace

void require(bool holds, std::string_view property) {
  if (holds) return;
  tell("redlock_fuzz: this does not hold: " + std::string(property) +
       "\nas a line of seeds/TARGET, the input is\n" + escaped(current) + "\n" + take_stderr());
  std::abort();
}

bool is_clean(std::string_view text) {
  return os::printable(text) == text;
}

void require_clean_lines(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    require(is_clean(line), "a line is clean");
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
}

std::string take_stderr() {
  std::string text(static_cast<std::size_t>(::lseek(memory, 0, SEEK_END)), '\0');
  const ssize_t length = ::pread(memory, text.data(), text.size(), 0);
  const bool empty = ::ftruncate(memory, 0) == 0 && ::lseek(memory, 0, SEEK_SET) == 0;
  return empty && length >= 0 ? text : std::string();
}

#ifdef REDLOCK_LIBFUZZER

static const Target* chosen = nullptr;

/// Puts a folder with the seeds in place of the target's name: new input will be found there, too.
extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  chosen = *argc > 1 ? find_target((*argv)[1]) : nullptr;
  if (chosen == nullptr) {
    std::fprintf(stderr, "usage: redlock_fuzz TARGET [LIBFUZZER-OPTION...]\n");
    std::exit(64);
  }
  static std::string folder = "corpus/" + std::string(chosen->name);
  std::filesystem::create_directories(folder);
  std::size_t number = 0;
  for (const std::string& seed : seeds_of(chosen->name)) {
    std::ofstream(folder + "/seed" + std::to_string(++number), std::ios::binary) << seed;
  }
  (*argv)[1] = folder.data();
  // libFuzzer's own messages go to a copy of standard error, too.
  terminal = ::dup(STDERR_FILENO);
  static char option[] = "-close_fd_mask=2";
  static std::vector<char*> words(*argv, *argv + *argc);
  if (*argc > 2 && words[2][0] != '-') words.erase(words.begin() + 1);  // that file alone
  words.push_back(option);
  *argc = static_cast<int>(words.size());
  words.push_back(nullptr);
  *argv = words.data();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (memory < 0) part_stderr();
  run(*chosen, {reinterpret_cast<const char*>(data), size});
  return 0;
}

#else

static int run_all(int argc, char** argv) {
  const std::string only = argc > 1 ? argv[1] : "";
  if (!only.empty() && find_target(only) == nullptr) return 64;
  terminal = ::dup(STDERR_FILENO);
  part_stderr();
  std::size_t inputs = 0;
  for (const Target& target : kTargets) {
    if (!only.empty() && target.name != only) continue;
    std::vector<std::string> seeds;
    for (int word = 2; word < argc; ++word) {
      std::ifstream file(argv[word], std::ios::binary);
      seeds.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
    if (argc < 3) seeds = seeds_of(target.name);
    require(argc > 2 || seeds.size() > 1, "each target has seeds");
    for (const std::string& seed : seeds) run(target, seed);
    inputs += seeds.size();
    std::printf("ok %td - %s: %zu seeds\n", &target - kTargets + 1, target.name.data(),
                seeds.size());
    std::fflush(stdout);
  }
  return inputs == 0 ? 1 : 0;
}

#endif

}  // namespace redlock::fuzz

#ifndef REDLOCK_LIBFUZZER
int main(int argc, char** argv) {
  return redlock::fuzz::run_all(argc, argv);
}
#endif
