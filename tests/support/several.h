// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The main function of a test whose classes lie in several sources.

#include <QCoreApplication>
#include <QTest>

#include <initializer_list>
#include <memory>

namespace qs::test {

inline int runAll(int argc, char* argv[], std::initializer_list<std::unique_ptr<QObject> (*)()> makers) {
    QCoreApplication app(argc, argv);
    int failed = 0;
    for (const auto make : makers) failed += QTest::qExec(make().get(), argc, argv);
    return failed;
}

} // namespace qs::test
