// SPDX-License-Identifier: GPL-3.0-or-later
// The environment that a worker process sets before it loads a vendor library, tested for other machines.
#include "app/worker/environment.h"
#include "core/bench/backend/tpu_presence.h"
#include "tests/support/test_program.h"

#include <QDir>
#include <QFile>
#include <QTemporaryDir>
#include <QTest>
#include <map>

using namespace qs;
using namespace qs::worker;

namespace {

QString q(const std::string& text) { return QString::fromStdString(text); }

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
        users = {{"TPU_SKIP_MDS_QUERY", "0"}, {"TF_CPP_MIN_LOG_LEVEL", "0"}, {"XLA_FLAGS", "--x"}};
        const auto chosen = chooseEnvironment({}, false, current);
        QVERIFY(chosen.set.empty());
        QCOMPARE(q(valueOf(chosen.report, "XLA_FLAGS")), q("--x"));
        QCOMPARE(q(valueOf(chosen.report, "TPU_SKIP_MDS_QUERY")), q("0"));
    }
    void optionsDecide() {
        users = {{"XLA_FLAGS", "--x"}};
        const auto flags = chooseEnvironment({{"xla_flags", "--a=1"}}, false, current);
        QCOMPARE(q(valueOf(flags.set, "XLA_FLAGS")), q("--a=1"));
        QCOMPARE(q(valueOf(flags.report, "XLA_FLAGS")), q("--a=1"));
        const Options rest = pluginOptions({{"coretype", "default"}, {"path", "/x"}, {"xla_flags", ""}});
        QCOMPARE(rest, (Options{{"coretype", "default"}, {"path", "/x"}}));
    }
    void noTpuMeansNoQuestionToTheCloud() {
        QCOMPARE(q(valueOf(chooseEnvironment({}, false, current).set, "TPU_SKIP_MDS_QUERY")), q("1"));
        QCOMPARE(q(valueOf(chooseEnvironment({}, true, current).set, "TPU_SKIP_MDS_QUERY")), q("nothing"));
    }
    void tpuOnTheBus_data() {
        QTest::addColumn<QByteArray>("vendor");
        QTest::addColumn<QByteArray>("device");
        QTest::addColumn<bool>("tpu");
        QTest::newRow("v5e") << QByteArray("0x1ae0\n") << QByteArray("0x0063\n") << true;
        QTest::newRow("v6e") << QByteArray("0x1ae0\n") << QByteArray("0x006f\n") << true;
        QTest::newRow("another Google device") << QByteArray("0x1ae0\n") << QByteArray("0x0042\n") << false;
        QTest::newRow("a GPU") << QByteArray("0x10de\n") << QByteArray("0x0063\n") << false;
        QTest::newRow("no numbers") << QByteArray("what\n") << QByteArray() << false;
    }
    void tpuOnTheBus() {
        QFETCH(QByteArray, vendor);
        QFETCH(QByteArray, device);
        QFETCH(bool, tpu);
        QTemporaryDir bus;
        const QString at = bus.filePath(QStringLiteral("0000:00:04.0/"));
        QVERIFY(QDir().mkpath(at));
        const auto put = [&](const char* name, const QByteArray& text) {
            QFile file(at + QLatin1String(name));
            return file.open(QIODevice::WriteOnly) && file.write(text) == text.size();
        };
        QVERIFY(put("vendor", vendor) && put("device", device));
        QCOMPARE(tpuPresent(bus.path().toStdString()), tpu);
        QVERIFY(!tpuPresent(bus.filePath(QStringLiteral("nowhere")).toStdString()));
    }
};

QS_TEST(TestEnvironment)
#include "test_environment.moc"
