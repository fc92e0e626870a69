// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A test program contains the tests of one folder. Each source has one test class, registered by QS_TEST(Class) at its
// end.
//     PROGRAM SOURCE [OPTIONS OF QTTEST]   runs the class of SOURCE, e.g. `test_core_model npz_test emptyArchive`
//     PROGRAM                              prints the names of all sources
// Programs run in the root of the checkout, so paths in tests are relative to it.

#include <QDir>
#include <QTest>

#include <memory>

// Qt's default timeout of 5 s is too short for a sanitized build on a busy machine. A successful wait takes no longer
// than before.
#undef QTRY_VERIFY
#undef QTRY_COMPARE
#define QTRY_VERIFY(condition) QTRY_VERIFY_WITH_TIMEOUT((condition), qs::test::kWait)
#define QTRY_COMPARE(value, expected) QTRY_COMPARE_WITH_TIMEOUT((value), (expected), qs::test::kWait)

namespace qs::test {

/// Longest wait for an event in a test, in ms.
inline constexpr int kWait = 60'000;

using MakeTest = std::unique_ptr<QObject> (*)();
using OtherMain = int (*)(int argc, char** argv);

/// The absolute path of a path relative to the root of the checkout.
inline QString wholePath(const QString& path) { return QDir::current().absoluteFilePath(path); }

/// Called by QS_TEST before main(). `file` is the path of the source; its name without folder and suffix is the name of
/// the test.
bool addTest(const char* file, MakeTest make);

/// Called by QS_OTHER_MAIN before main(). `PROGRAM flag ...` then calls `run` instead of a test, without an application
/// object.
bool addOtherMain(const char* flag, OtherMain run);

} // namespace qs::test

#define QS_TEST(Class)                                                                                                 \
    [[maybe_unused]] static const bool added##Class =                                                                  \
        qs::test::addTest(__FILE__, []() -> std::unique_ptr<QObject> { return std::make_unique<Class>(); });

/// For tests that start their own program as a child process.
#define QS_OTHER_MAIN(flag, function)                                                                                  \
    [[maybe_unused]] static const bool added##function = qs::test::addOtherMain(flag, function);
