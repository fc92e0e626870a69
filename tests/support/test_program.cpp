// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/test_program.h"

#if defined(QS_TEST_TIMED)
#include "tests/bench/timed_application.h"
using Application = TimedApplication;
#elif defined(QS_TEST_WINDOWS)
#include <QApplication>
using Application = QApplication;
#else
#include <QCoreApplication>
using Application = QCoreApplication;
#endif
#include <QDir>

#include <cstdio>
#include <map>
#include <string>

namespace qs::test {
namespace {

std::map<std::string, MakeTest>& tests() {
    static std::map<std::string, MakeTest> all;
    return all;
}

std::map<std::string, OtherMain>& otherMains() {
    static std::map<std::string, OtherMain> all;
    return all;
}

std::string stem(std::string path) {
    path.erase(0, path.rfind('/') + 1); // npos + 1 is 0
    return path.substr(0, path.rfind('.'));
}

} // namespace

bool addTest(const char* file, MakeTest make) {
    tests()[stem(file)] = make;
    return true;
}

bool addOtherMain(const char* flag, OtherMain run) {
    otherMains()[flag] = run;
    return true;
}

} // namespace qs::test

int main(int argc, char** argv) {
    using namespace qs::test;
    if (argc > 1)
        if (const auto other = otherMains().find(argv[1]); other != otherMains().end())
            return other->second(argc, argv);
    Application app(argc, argv);
    if (!QDir::setCurrent(QCoreApplication::applicationDirPath() + QStringLiteral("/" QS_ROOT_FROM_BIN))) return 2;
    const auto test = argc > 1 ? tests().find(argv[1]) : tests().end();
    if (test == tests().end()) {
        std::fprintf(stderr, "usage: %s SOURCE [OPTIONS OF QTTEST]; SOURCE is one of:\n", argv[0]);
        for (const auto& [name, make] : tests()) std::fprintf(stderr, "  %s\n", name.c_str());
        return 2;
    }
    argv[1] = argv[0]; // QtTest reads its own options from argv[1] on
    return QTest::qExec(test->second().get(), argc - 1, argv + 1);
}
