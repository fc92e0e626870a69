// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Sanitized code is 5 to 20 times slower. Tests over very many combinations take some of them there, spread evenly;
// unsanitized builds take all.

#include <cstddef>

namespace qs::test {

#if defined(__SANITIZE_THREAD__)
inline constexpr std::size_t kThinning = 17;
#elif defined(__SANITIZE_ADDRESS__)
inline constexpr std::size_t kThinning = 5;
#else
inline constexpr std::size_t kThinning = 1;
#endif

/// Whether the combination of this number is among those taken. The steps are prime, so that no inner loop falls in with them.
inline bool taken(std::size_t turn) { return turn % kThinning == 0; }

} // namespace qs::test
