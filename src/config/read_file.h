// SPDX-License-Identifier: MIT
//
// Reads the files with settings and passwords. With `--also`, one redlock after the other reads the
// same settings, but a pipe gives its content to the first one only. That one keeps the content in
// memory, in files that the others inherit (run/stage.h).
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>

#include "config/table.h"

namespace redlock::config {

/// The content of a file. /dev/null counts as a file, and so does a pipe without a name (`<(…)`,
/// /dev/stdin). A named pipe (FIFO) does not: without a writer, redlock would wait for ever.
struct FileRead {
  int error = 0;          ///< errno; 0: no error
  bool too_long = false;  ///< the file has more bytes than the caller asked for
  std::string text;
  mode_t mode = 0;  ///< of fstat(2)
  uid_t owner = 0;
  bool fifo = false;  ///< a named pipe; nothing was read

  /// Why the file is unusable, for people; empty: it is usable.
  [[nodiscard]] std::string trouble() const;
};

/// Where an earlier redlock keeps what it read from pipes: a line "DESCRIPTOR PATH" for each, with
/// the path as the user wrote it. Only redlock itself sets it.
constexpr const char* kPipesVariable = "REDLOCK_STAGE_PIPES";

/// Reads the file, or the beginning of a file with more than `most` bytes. Takes the content of a
/// pipe that an earlier redlock has read from there (draft.earlier_pipes), and stores that of a
/// pipe which we read ourselves in draft.settings.pipes.
FileRead read_file_or_pipe(const std::string& path, std::size_t most, Draft& draft);

enum class Content { secret, settings };

/// A warning if others may write the file, or read it although its content is secret; else empty.
/// Nobody else can open a pipe, or a file that the shell opened (/dev/stdin, /dev/fd/63). The group
/// of a file that root owns is the administrator's choice.
std::string exposure(const FileRead& file, const std::string& path, Content content);

}  // namespace redlock::config
