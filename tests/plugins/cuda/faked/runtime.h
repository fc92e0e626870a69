// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A CUDA runtime whose device is the host: what is queued has happened when the call returns.

#include <cstddef>

namespace qs::test {

struct FakeRuntime {
    std::size_t allocations = 0, events = 0, streams = 0; ///< that live
    std::size_t failAfter = ~std::size_t(0);              ///< allocations that still succeed
    int lastError = 0;                                    ///< as cudaGetLastError() would give it
    int capability = 90, l2Bytes = 0;
};
FakeRuntime& fakeRuntime();

} // namespace qs::test
