// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Test data: one row for each kernel set that this processor supports.

#include "tests/kernels/kernel_inputs.h"
#include "tests/support/thinned.h"

#include <QtTest>

Q_DECLARE_METATYPE(const qs::KernelSet*)

namespace qs::test {

inline void supportedSets() {
    QTest::addColumn<const KernelSet*>("kernels");
    for (const KernelSet* set : kernelSets())
        if (set->supported()) QTest::newRow(set->id) << set;
}

/// Group sizes to test with n values.
inline std::vector<std::size_t> groupsFor(std::size_t n) {
    std::vector<std::size_t> groups = {1, 2, 3, 4, 6, 7, 8, 10, 15, 16, 17, 24, 32, 48, 64, 100, 128, 250, 1000, 4096};
    std::erase_if(groups, [n](std::size_t g) { return g > n && g != 64; });
    return groups;
}

} // namespace qs::test
