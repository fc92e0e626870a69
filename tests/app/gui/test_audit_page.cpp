// SPDX-License-Identifier: GPL-3.0-or-later
// The audit page: findings of a faulty file, a click that opens the tensor, the differences from another checkpoint.
#include "app/gui/page.h"
#include "app/gui/pages/audit_page.h"
#include "app/gui/theme.h"
#include "artefacts.h"
#include "core/model/safetensors.h"
#include "opened_session.h"

#include <QAbstractItemModelTester>
#include <QLabel>
#include <QPushButton>
#include <QTableView>
#include <QTemporaryDir>

#include <cmath>
#include <limits>

using namespace qs;
using namespace qs::gui;

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
        QVERIFY(QTest::qWaitForWindowExposed(page_.get()));
    }

    void aSmallModelIsAuditedAtOnce() {
        QVERIFY(openModel(*session_, samplePath()));
        QTRY_VERIFY(audit()->result());
        QVERIFY(quiet());
        QCOMPARE(audit()->findings()->model()->rowCount(), 0); // the sample is what it says
        QStringList words;                                     // what was looked for is said: "nothing" is worth that
        const auto labels = page_->findChildren<QLabel*>();
        for (const auto* label : labels)
            if (label->isVisible()) words << label->text();
        for (const auto& check : auditChecks())
            QVERIFY2(words.join(u'\n').contains(QString::fromUtf8(check.title)), check.title);
        keepPicture(*page_, QStringLiteral("audit-clean"));
    }

    void differencesAreAligned() {
        audit()->compareWith(QStringLiteral(QS_TEST_DATA "/diff/layer0_attention.gguf"));
        QVERIFY(quiet());
        QVERIFY(audit()->differences());
        QCOMPARE(audit()->differences()->count(DiffStatus::Different), std::size_t(4));
        QAbstractItemModelTester tester(audit()->differing()->model());
        keepPicture(*page_, QStringLiteral("audit-differences"));
        const auto before = session_->page();
        audit()->compareWith(folder_.filePath(QStringLiteral("nothing.safetensors")));
        QVERIFY(quiet());
        QVERIFY(page_->findChild<QLabel*>(QStringLiteral("auditStatus"))->text().contains(u"nothing.safetensors"));
        QVERIFY(audit()->differences()); // those of before stay
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

QTEST_MAIN(TestAuditPage)
#include "test_audit_page.moc"
