// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Test rows: all weights our kernels multiply, in both orientations, with all kinds of scales.

#include <QTest>

namespace qs::test {

inline void addWeightRows() {
    QTest::addColumn<QString>("format");
    QTest::addColumn<bool>("kn");
    QTest::addColumn<QString>("scale");
    for (const char* format : {"nf4", "int8", "int4", "ternary", "binary"})
        for (const bool kn : {false, true})
            for (const char* scale : {"row", "column", "tensor", "block"})
                QTest::addRow("%s %s %s", format, kn ? "KN" : "NK", scale)
                    << QString::fromLatin1(format) << kn << QString::fromLatin1(scale);
}

} // namespace qs::test
