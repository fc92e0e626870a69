// SPDX-License-Identifier: GPL-3.0-or-later
// Captures whose chunks are shared: the file that a merge writes has the bytes of that of one process.
#include "tests/core/eval/captures.h"
#include "tests/core/eval/shards.h"
#include "tests/support/changed_records.h"
#include "tests/support/test_program.h"

#include <QFile>
#include <QtTest>

using namespace qs;
using namespace qs::eval;
using namespace qs::eval::test;
using namespace qs::test;

class SharedCaptureTest : public QObject {
    Q_OBJECT
    QTemporaryDir dir_;
    /// Writes a file; with units only if they are whole.
    Captured write(const QString& family, const QString& kind, UnitRun* units, const QString& path) {
        auto plan = eval::test::planOf(family);
        plan.rows = 7, plan.units = units;
        const auto row = std::find_if(captureKinds().begin(), captureKinds().end(),
                                      [&](const auto& k) { return kind == QLatin1String(k.id); });
        const auto done = row->write(eval::test::opened(folderOf(family)), plan, path.toStdString(), Job());
        if (!done) qFatal("%s", done.error().message.c_str());
        return *done;
    }
    QString path(const char* name) const { return dir_.filePath(QString::fromLatin1(name)); }

private Q_SLOTS:
    void filesEqualThoseOfOneProcess_data();
    void filesEqualThoseOfOneProcess();
    void changedRecordsDoNoHarm_data() { filesEqualThoseOfOneProcess_data(); }
    void changedRecordsDoNoHarm();
};

void SharedCaptureTest::filesEqualThoseOfOneProcess_data() {
    QTest::addColumn<QString>("family");
    QTest::addColumn<QString>("kind");
    for (const char* family : {"llama", "mixtral", "qwen3_moe_fused"})
        for (const CaptureKind& kind : captureKinds())
            QTest::addRow("%s %s", family, kind.id) << QString::fromLatin1(family) << QString::fromLatin1(kind.id);
}

void SharedCaptureTest::filesEqualThoseOfOneProcess() {
    QFETCH(QString, family);
    QFETCH(QString, kind);
    const auto whole = write(family, kind, nullptr, path("whole"));
    QVERIFY(whole.chunks == 3 && whole.bytes > 0);
    const Shards folder;
    for (const std::size_t i : {1u, 0u}) {
        const auto part = folder.part(i, 2);
        QCOMPARE(write(family, kind, part.get(), path("part")).bytes, std::uint64_t(0));
        QVERIFY(part->finish());
        QVERIFY(!QFile::exists(path("part")));
    }
    {
        const auto merge = folder.merge();
        QCOMPARE(write(family, kind, merge.get(), path("merged")).bytes, whole.bytes);
        QVERIFY(merge->isWhole());
        QCOMPARE(merge->computed(), std::size_t(0));
    }
    QCOMPARE(bytesOf(path("merged")), bytesOf(path("whole")));
    const Shards other; // one process that was stopped, and then another
    {
        const auto part = other.part(0, 3);
        write(family, kind, part.get(), path("part"));
        QVERIFY(part->finish());
        const auto merge = other.merge();
        write(family, kind, merge.get(), path("part"));
        const auto finished = merge->finish();
        QVERIFY(!finished && finished.error().message.find("the inputs in chunk 2") != std::string::npos);
        QVERIFY(!QFile::exists(path("part")));
    }
    const auto rest = other.part(0, 1);
    QCOMPARE(write(family, kind, rest.get(), path("rest")).bytes, whole.bytes);
    QCOMPARE(bytesOf(path("rest")), bytesOf(path("whole")));
}

void SharedCaptureTest::changedRecordsDoNoHarm() {
    QFETCH(QString, family);
    QFETCH(QString, kind);
    const auto row = std::find_if(captureKinds().begin(), captureKinds().end(),
                                  [&](const auto& k) { return kind == QLatin1String(k.id); });
    auto plan = eval::test::planOf(family);
    plan.rows = 7;
    const auto model = eval::test::opened(folderOf(family));
    const Shards good, changed;
    {
        const auto part = good.part(0, 2), other = good.part(1, 2); // a part writes no file
        for (UnitRun* units : {part.get(), other.get()}) {
            plan.units = units;
            QVERIFY(row->write(model, plan, path("part").toStdString(), Job()) && units->finish());
        }
    }
    std::mt19937 random(3);
    for (int round = 0; round < 15; ++round) {
        copyFiles(good.path(), changed.path());
        changeRecords(changed.path(), random);
        const auto merge = changed.merge();
        plan.units = merge.get();
        const auto done = row->write(model, plan, path("changed").toStdString(), Job());
        QVERIFY(done || !done.error().message.empty());
    }
}

QS_TEST(SharedCaptureTest)
#include "shared_capture_test.moc"
