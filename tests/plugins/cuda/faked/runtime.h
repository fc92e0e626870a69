// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A fake CUDA runtime whose device is the host. Queued work is complete when the call returns.

#include <cstddef>

namespace qs::test {

struct FakeRuntime {
    std::size_t allocations = 0, events = 0, streams = 0; ///< number of live objects
    std::size_t failAfter = ~std::size_t(0);              ///< number of allocations that still succeed
    int lastError = 0;                                    ///< the value of cudaGetLastError()
    int capability = 90, l2Bytes = 0;
};
FakeRuntime& fakeRuntime();

} // namespace qs::test
