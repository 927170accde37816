// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "lock/time.h"

namespace redlock::sim {

/// splitmix64: all of a schedule's chance comes from one of these.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t mixed = state_ += 0x9e3779b97f4a7c15U;
    mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9U;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebU;
    return mixed ^ (mixed >> 31U);
  }

  /// 0 to n - 1; n > 0.
  std::uint32_t below(std::uint32_t n) {
    return static_cast<std::uint32_t>(((next() >> 32U) * n) >> 32U);
  }

  /// An index below this number.
  std::uint8_t index(std::size_t n) {
    return static_cast<std::uint8_t>(below(static_cast<std::uint32_t>(n)));
  }

  bool percent(std::uint32_t chance) { return below(100) < chance; }

  /// [low, high], evenly.
  lock::Duration between(lock::Duration low, lock::Duration high) {
    const auto span = static_cast<std::uint64_t>((high - low).count()) + 1;
    return low + lock::Duration(static_cast<std::int64_t>(next() % span));
  }

  /// One of the values given, each as likely as the others. Values that are drawn themselves go in
  /// braces, or compilers draw them in different orders.
  template <class T>
  T one_of(std::initializer_list<T> all) {
    return all.begin()[below(static_cast<std::uint32_t>(all.size()))];
  }
  template <class T, class... Others>
  T one_of(T first, Others... others) {
    const T all[] = {first, static_cast<T>(others)...};
    return all[below(1 + sizeof...(others))];
  }

 private:
  std::uint64_t state_;
};

}  // namespace redlock::sim
