// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Reading a text file for a tokenizer.

#include "core/base/job.h"
#include "core/base/result.h"

#include <cstdint>
#include <functional>
#include <string>

namespace qs::eval {

/// Tokenizers take several times the memory of a text.
inline constexpr std::uint64_t kMostTextBytes = std::uint64_t(256) << 20;

/// Gives the bytes of a file to `use`, without one newline at their end, as in llama.cpp. Returns the SHA-256 of the
/// whole file. An error of `use` gets the name of the file.
Result<std::string> readText(const std::string& path, const Job& job,
                             const std::function<Result<void>(std::string_view text)>& use);

} // namespace qs::eval
