// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Sanitized code is 5 to 20 times slower. There, tests with very many combinations run only some of them, evenly
// spread. Other builds run all combinations.

#include <cstddef>

namespace qs::test {

#if defined(__SANITIZE_THREAD__)
inline constexpr std::size_t kThinning = 17;
#elif defined(__SANITIZE_ADDRESS__)
inline constexpr std::size_t kThinning = 11;
#else
inline constexpr std::size_t kThinning = 1;
#endif

/// True if combination number `turn` is to run. The steps are prime numbers, so they do not match the length of an
/// inner loop.
inline bool taken(std::size_t turn) { return turn % kThinning == 0; }

} // namespace qs::test
