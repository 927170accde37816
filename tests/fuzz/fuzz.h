// SPDX-License-Identifier: MIT
//
// The targets of libFuzzer: each takes bytes as a stranger may have sent them, and aborts if a
// property does not hold. Absent on purpose: how the bytes are chosen (main.cc).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "redis/wire/resp.h"

namespace redlock::fuzz {

/// Prints `property` and aborts unless it holds.
void require(bool holds, std::string_view property);

/// Whether a terminal may get the text as it is.
bool is_clean(std::string_view text);

/// The same for each line of it, or abort.
void require_clean_lines(std::string_view text);

/// What the targets have written to standard error since the last call. It goes to a file in
/// memory.
std::string take_stderr();

/// Input that is read from its front. At its end each byte is 0.
class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : left_(bytes) {}

  [[nodiscard]] bool empty() const { return left_.empty(); }
  unsigned byte() {
    if (left_.empty()) return 0;
    const auto first = static_cast<unsigned char>(left_.front());
    left_.remove_prefix(1);
    return first;
  }
  unsigned below(std::size_t limit) { return byte() % static_cast<unsigned>(limit); }
  std::string_view take(std::size_t most) {
    const std::string_view taken = left_.substr(0, most);
    left_.remove_prefix(taken.size());
    return taken;
  }
  std::string_view rest() { return take(left_.size()); }

 private:
  std::string_view left_;
};

/// The value on the wire. A line break in a status or an error is left out.
std::string wire_of(const redis::Value& value);

// texts.cc
void uri(std::string_view input);
void duration(std::string_view input);
void moment(std::string_view input);
void file(std::string_view input);
void held(std::string_view input);
void stage(std::string_view input);
void metrics(std::string_view input);
void printable(std::string_view input);

// records.cc
void holder(std::string_view input);
void log_entry(std::string_view input);
void notice(std::string_view input);

// replies.cc
void resp(std::string_view input);
void answer(std::string_view input);
void cluster(std::string_view input);
void sentinel(std::string_view input);
void look(std::string_view input);
void subscriber(std::string_view input);

// session.cc
void session(std::string_view input);

}  // namespace redlock::fuzz
