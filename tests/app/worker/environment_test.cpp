// SPDX-License-Identifier: GPL-3.0-or-later
// The environment that a worker process sets before it loads a vendor library, tested for other machines.
#include "app/worker/environment.h"
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
