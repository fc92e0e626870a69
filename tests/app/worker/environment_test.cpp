// SPDX-License-Identifier: GPL-3.0-or-later
// The environment that a worker gets from the program, and what it sets before it loads a vendor library.
#include "app/worker/environment.h"
#include "core/bench/backend/worker_environment.h"
#include "tests/support/files.h"
#include "tests/support/test_program.h"

#include <QTest>
#include <map>

using namespace qs;
using namespace qs::worker;
using namespace qs::test;

namespace {

std::map<std::string, std::string> users;
const char* current(const char* name) {
    const auto at = users.find(name);
    return at == users.end() ? nullptr : at->second.c_str();
}

std::string valueOf(const Options& options, const std::string& name) {
    for (const auto& [key, value] : options)
        if (key == name) return value;
    return "nothing";
}

} // namespace

class TestEnvironment : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init() { users.clear(); }
    void whatTheUserHasSetStays() {
        users = {{"TF_CPP_MIN_LOG_LEVEL", "0"}, {"XLA_FLAGS", "--x"}};
        const auto chosen = chooseEnvironment({}, current);
        QVERIFY(chosen.set.empty());
        QCOMPARE(q(valueOf(chosen.report, "XLA_FLAGS")), q("--x"));
        QCOMPARE(q(valueOf(chosen.report, "TF_CPP_MIN_LOG_LEVEL")), q("0"));
    }
    /// Elements of LD_LIBRARY_PATH that mean the current folder are left out.
    void librariesComeFromAbsoluteFolders_data() {
        QTest::addColumn<QString>("given");
        QTest::addColumn<QString>("passed");
        const char* rows[][2] = {{"/a:/b/c", "/a:/b/c"},
                                 {"/a:", "/a"},
                                 {":/a", "/a"},
                                 {"/a::/b", "/a:/b"},
                                 {"", ""},
                                 {":", ""},
                                 {".", ""},
                                 {"lib:/a:./x", "/a"},
                                 {"/a;/b", "/a:/b"},
                                 {"/a;lib", "/a"}};
        for (const auto& [given, passed] : rows) QTest::newRow(given) << q(given) << q(passed);
    }
    void librariesComeFromAbsoluteFolders() {
        QFETCH(QString, given);
        QFETCH(QString, passed);
        const auto line = "LD_LIBRARY_PATH=" + given.toStdString();
        const char* const variables[] = {"PATH=/bin", line.c_str(), "LD_PRELOAD=x.so", "SECRET=1", nullptr};
        std::vector<std::string> right{"PATH=/bin"};
        if (!passed.isEmpty()) right.push_back("LD_LIBRARY_PATH=" + passed.toStdString());
        QCOMPARE(workerEnvironment(variables), right);
    }
    void optionsDecide() {
        users = {{"XLA_FLAGS", "--x"}};
        const auto flags = chooseEnvironment({{"xla_flags", "--a=1"}}, current);
        QCOMPARE(q(valueOf(flags.set, "XLA_FLAGS")), q("--a=1"));
        QCOMPARE(q(valueOf(flags.report, "XLA_FLAGS")), q("--a=1"));
        const Options rest = pluginOptions({{"coretype", "default"}, {"path", "/x"}, {"xla_flags", ""}});
        QCOMPARE(rest, (Options{{"coretype", "default"}, {"path", "/x"}}));
    }
};

QS_TEST(TestEnvironment)
#include "environment_test.moc"
