// SPDX-License-Identifier: GPL-3.0-or-later
// The audit page: findings in a faulty file, a click that opens the tensor, and differences from another checkpoint.
// The commands `audit` and `diff` must give the same results.
#include "app/gui/page.h"
#include "app/gui/pages/audit/audit_page.h"
#include "app/gui/theme.h"
#include "artefacts.h"
#include "core/model/safetensors/safetensors.h"
#include "opened_session.h"
#include "tests/support/test_program.h"

#include <QAbstractItemModelTester>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLabel>
#include <QProcess>
#include <QPushButton>
#include <QTableView>
#include <QTemporaryDir>

#include <cmath>
#include <limits>

using namespace qs;
using namespace qs::gui;

namespace {

QJsonArray saidByTheCommand(const QStringList& arguments) {
    QProcess cli;
    cli.start(QStringLiteral(QS_BIN_DIR "/quantscope-cli"),
              arguments + QStringList{QStringLiteral("--json"), QStringLiteral("-")});
    if (!cli.waitForFinished(120'000) || cli.exitCode() != 0) qFatal("%s", cli.readAllStandardError().constData());
    return QJsonDocument::fromJson(cli.readAllStandardOutput())[QStringLiteral("rows")].toArray();
}

/// Compares all columns of all rows, numbers bit for bit. "" if they are equal.
template<class Row>
QString unequal(const std::vector<Row>& ours, const Columns<Row>& columns, const QJsonArray& theirs) {
    if (qsizetype(ours.size()) != theirs.size())
        return QStringLiteral("%1 rows, the command has %2").arg(ours.size()).arg(theirs.size());
    for (std::size_t i = 0; i < ours.size(); ++i)
        for (const auto& column : columns) {
            const Value value = column.value(ours[i]);
            const QJsonValue said = theirs[qsizetype(i)].toObject()[QString::fromStdString(column.id)];
            bool same = said.isNull();
            if (auto* d = std::get_if<double>(&value)) // JSON has no infinity
                same = std::isfinite(*d) ? said.isDouble() && said.toDouble() == *d : said.isNull();
            if (auto* n = std::get_if<std::int64_t>(&value)) same = said.isDouble() && said.toInteger() == *n;
            if (auto* b = std::get_if<bool>(&value)) same = said.isBool() && said.toBool() == *b;
            if (auto* s = std::get_if<std::string>(&value))
                same = said.isArray() // a shape
                           ? QString::fromUtf8(QJsonDocument(said.toArray()).toJson(QJsonDocument::Compact)) ==
                                 QString::fromStdString(*s).remove(u' ')
                           : said.isString() && said.toString() == QString::fromStdString(*s);
            if (!same)
                return QStringLiteral("row %1, %2: \"%3\"")
                    .arg(i)
                    .arg(QString::fromStdString(column.id), QString::fromStdString(cellText(column, value)));
        }
    return {};
}

} // namespace

class TestAuditPage : public QObject {
    Q_OBJECT

    QTemporaryDir folder_;
    std::unique_ptr<Session> session_;
    std::unique_ptr<QWidget> page_;

    AuditPage* audit() const { return static_cast<AuditPage*>(page_.get()); }
    bool quiet() {
        QTest::qWait(20);
        return QTest::qWaitFor([&] { return !audit()->running(); }, 60'000);
    }

private Q_SLOTS:
    void initTestCase() {
        Theme::install(Theme::Mode::Dark);
        session_ = std::make_unique<Session>();
        page_.reset(createAuditPage(*session_, nullptr));
        page_->resize(1056, 802);
        page_->show();
        QVERIFY(QTest::qWaitForWindowExposed(page_.get(), qs::test::kWait));
    }

    void aSmallModelIsAuditedAtOnce() {
        QVERIFY(openModel(*session_, samplePath()));
        QTRY_VERIFY(audit()->result());
        QVERIFY(quiet());
        QCOMPARE(audit()->findings()->model()->rowCount(), 0); // the sample model has no faults
        // The list of checks is shown, so that "no findings" has a meaning.
        const auto* checks = audit()->checks()->model();
        QCOMPARE(checks->rowCount(), int(auditChecks().size()));
        QVERIFY(audit()->checks()->isVisible());
        for (int row = 0; row < checks->rowCount(); ++row) {
            QCOMPARE(checks->index(row, 0).data().toString(), QString::fromUtf8(auditChecks()[std::size_t(row)].title));
            QCOMPARE(checks->index(row, 2).data().toString(), QStringLiteral("nothing found"));
        }
        keepPicture(*page_, QStringLiteral("audit-clean"));
    }

    void differencesAreAligned() {
        audit()->compareWith(QStringLiteral(QS_TEST_DATA "/diff/layer0_attention.gguf"));
        QVERIFY(quiet());
        QVERIFY(audit()->differences());
        QCOMPARE(audit()->differences()->count(DiffStatus::Different), std::size_t(4));
        const QString other = QStringLiteral(QS_TEST_DATA "/diff/layer0_attention.gguf");
        const auto said = saidByTheCommand({QStringLiteral("diff"), samplePath(), other});
        QCOMPARE(unequal(audit()->differences()->rows, diffColumns(), said), QString());
        // The table shows the rows that differ, with the same figures.
        const auto* table = audit()->differing()->model();
        QVERIFY(table->rowCount() >= 4);
        for (int row = 0; row < table->rowCount(); ++row) {
            const auto name = table->index(row, 0).data(Qt::UserRole).toString();
            const auto at = std::find_if(said.begin(), said.end(), [&](const QJsonValue& each) {
                return each[QStringLiteral("tensor")].toString() == name;
            });
            QVERIFY2(at != said.end(), qPrintable(name));
            for (int column = 0; column < table->columnCount(); ++column) {
                const auto title = table->headerData(column, Qt::Horizontal).toString();
                auto shown = table->index(row, column).data(Qt::UserRole);
                if (std::isinf(shown.toDouble())) shown = {}; // JSON has no infinity
                for (const auto& known : diffColumns())
                    if (QString::fromStdString(headerText(known)) == title)
                        QCOMPARE(shown, at->toObject()[QString::fromStdString(known.id)].toVariant().isNull()
                                            ? QVariant()
                                            : QVariant((*at)[QString::fromStdString(known.id)].toVariant()));
            }
        }
        QAbstractItemModelTester tester(audit()->differing()->model());
        keepPicture(*page_, QStringLiteral("audit-differences"));
        const auto before = session_->page();
        audit()->compareWith(folder_.filePath(QStringLiteral("nothing.safetensors")));
        QVERIFY(quiet());
        QVERIFY(page_->findChild<QLabel*>(QStringLiteral("auditStatus"))->text().contains(u"nothing.safetensors"));
        QVERIFY(audit()->differences()); // the earlier result stays
        QCOMPARE(session_->page(), before);
    }

    void aClickOpensTheTensor() {
        std::vector<float> values(64 * 64);
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = float(std::sin(double(i) * double(i) * 0.37));
        values[5 * 64 + 3] = std::numeric_limits<float>::quiet_NaN();
        const std::string path = folder_.filePath(QStringLiteral("faulty.safetensors")).toStdString();
        const auto sink = [&](const TensorToWrite::Sink& out) { return out(std::as_bytes(std::span(values))); };
        QVERIFY(writeSafetensors(path, {{"layers.0.w.weight", DType::F32, {64, 64}, sink}}, {}, nullptr, Job{}));
        QVERIFY(openModel(*session_, QString::fromStdString(path)));
        QTRY_VERIFY(audit()->result());
        QVERIFY(quiet());
        auto* table = audit()->findings();
        QCOMPARE(table->model()->rowCount(), 1);
        QVERIFY(!audit()->differences());
        QCOMPARE(unequal(audit()->result()->findings, findingColumns(),
                         saidByTheCommand({QStringLiteral("audit"), QString::fromStdString(path)})),
                 QString());
        // The row of its check shows it and a click opens it. The other rows open nothing.
        auto* checks = audit()->checks();
        const auto press = [&](int row) {
            QTest::mouseClick(checks->viewport(), Qt::LeftButton, {},
                              checks->visualRect(checks->model()->index(row, 0)).center());
        };
        QCOMPARE(checks->model()->index(0, 2).data().toString(), QStringLiteral("1 finding"));
        QCOMPARE(checks->model()->index(1, 2).data().toString(), QStringLiteral("nothing found"));
        press(0);
        QCOMPARE(table->selectionModel()->selectedRows().size(), 1);
        press(1);
        QVERIFY(!table->selectionModel()->hasSelection());
        keepPicture(*page_, QStringLiteral("audit-findings"));
        QTest::mouseClick(table->viewport(), Qt::LeftButton, {},
                          table->visualRect(table->model()->index(0, 1)).center());
        QVERIFY(session_->tensor());
        QCOMPARE(session_->tensor()->name, std::string("layers.0.w.weight"));
        QCOMPARE(session_->page(), QStringLiteral("tensor"));
        auto* start = page_->findChild<QPushButton*>(QStringLiteral("auditStart"));
        QTest::mouseClick(start, Qt::LeftButton);
        session_->cancelJobs();
        QVERIFY(quiet());
        QVERIFY(start->isEnabled());
    }
};

QS_TEST(TestAuditPage)
#include "audit_page_test.moc"
