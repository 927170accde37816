// SPDX-License-Identifier: MIT
//
// redlock_model_check SOCKET [COUNT [SEED]]: is the simulated server (server.h) the real one?
// Random sequences of requests to the Redis server on a Unix socket and to the model: about the
// lock (lock_check.h), and about the queue of waiters (queue_check.h). The database is flushed.
//
// Exit status: 0 no difference, 1 a difference, 64 usage, 69 no server.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "lock_check.h"
#include "mutation.h"
#include "queue_check.h"

namespace {

using namespace redlock;

/// The queue of waiters; and that a mistake in the model would be seen.
bool check_line(const char* socket, std::uint64_t seed, std::uint64_t count) {
  sim::QueueCheck queue(socket, seed);
  for (std::uint64_t number = 0; number < count; ++number) {
    if (queue.sequence(number)) continue;
    std::printf("%sthe model's queue is not the server's (seed %llu)\n", queue.story().c_str(),
                static_cast<unsigned long long>(seed));
    return false;
  }
  for (const auto& [mutation, name] : sim::kMutations) {
    if (!sim::is_of_queue(mutation)) continue;
    sim::QueueCheck wrong(socket, seed, mutation);
    std::uint64_t number = 0;
    while (number < 10 * count && wrong.sequence(number)) ++number;
    if (number < 10 * count) continue;
    std::printf("%s: a model with this mistake is taken for the server\n",
                std::string(name).c_str());
    return false;
  }
  return true;
}

/// That a mistake in the model of the readers would be seen.
bool check_readers(const char* socket, std::uint64_t seed, std::uint64_t count) {
  for (const auto& [mutation, name] : sim::kMutations) {
    if (!sim::is_of_readers(mutation)) continue;
    sim::LockCheck wrong(socket, seed, mutation);
    std::uint64_t number = 0;
    while (number < 10 * count && wrong.sequence(number)) ++number;
    if (number < 10 * count) continue;
    std::printf("%s: a model with this mistake is taken for the server\n",
                std::string(name).c_str());
    return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: redlock_model_check SOCKET [COUNT [SEED]]\n", stderr);
    return 64;
  }
  const std::uint64_t count = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 300;
  const std::uint64_t seed = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1;
  try {
    sim::LockCheck check(argv[1], seed);
    for (std::uint64_t number = 0; number < count; ++number) {
      if (check.sequence(number)) continue;
      std::printf("%sthe model is not the server (seed %llu)\n", check.story().c_str(),
                  static_cast<unsigned long long>(seed));
      return 1;
    }
    if (!check_readers(argv[1], seed, count) || !check_line(argv[1], seed, count)) return 1;
    std::printf(
        "%llu sequences of 30 steps: the same answers, the same keys; and as "
        "many of waiters in the queue\n",
        static_cast<unsigned long long>(count));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "redlock_model_check: %s\n", error.what());
    return 69;
  }
}
