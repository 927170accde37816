// SPDX-License-Identifier: MIT
//
// With `--also`, one redlock after the other reads the same settings, but a pipe gives its content
// to the first one only. That one keeps the content in memory, in files that the others inherit
// (run/stage.h).
#pragma once

#include <cstddef>
#include <string>

#include "config/draft.h"
#include "config/read_file.h"

namespace redlock::config {

/// Where an earlier redlock keeps what it read from pipes: a line "DESCRIPTOR PATH" for each, with
/// the path as the user wrote it. Only redlock itself sets it.
constexpr const char* kPipesVariable = "REDLOCK_STAGE_PIPES";

/// As read_file(), but takes the content of a pipe that an earlier redlock has read from there
/// (draft.earlier_pipes), and stores that of a pipe which we read ourselves in
/// draft.settings.pipes.
FileRead read_file_or_pipe(const std::string& path, std::size_t most, Draft& draft);

}  // namespace redlock::config
