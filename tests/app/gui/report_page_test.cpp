// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/report/report_page.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/card.h"
#include "app/gui/widgets/report_preview.h"
#include "artefacts.h"
#include "opened_session.h"
#include "tests/support/test_program.h"
#include "tests/support/thinned.h"

#include <QCheckBox>
#include <QFileInfo>
#include <QListWidget>
#include <QPushButton>
#include <QScrollBar>
#include <QTemporaryDir>

#include <memory>

using namespace qs;
using namespace qs::gui;

class TestReportPage : public QObject {
    Q_OBJECT
    std::unique_ptr<Session> session_;

    std::unique_ptr<ReportPage> make(QSize size = {1356, 802}) {
        auto page = std::make_unique<ReportPage>(*session_);
        page->setAutoFillBackground(true);
        page->resize(size);
        QSignalSpy ready(page.get(), &ReportPage::reportReady);
        page->show();
        if (!ready.wait(30'000)) qWarning("no report");
        return page;
    }
    static bool again(ReportPage& page, const std::function<void()>& act) {
        QSignalSpy ready(&page, &ReportPage::reportReady);
        act();
        return ready.wait(30'000);
    }
    static QByteArray contentOf(const QString& path) {
        QFile file(path);
        return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
    }

private Q_SLOTS:
    void initTestCase() {
        Theme::install(Theme::Mode::Dark);
        session_ = std::make_unique<Session>();
        QVERIFY(openModel(*session_, samplePath()));
    }

    void previewsWhatIsTicked() {
        const auto page = make();
        QVERIFY(page->report());
        const auto all = page->report()->sections.size();
        QVERIFY(all >= 5);
        auto* preview = page->findChild<ReportPreview*>();
        const double height = preview->documentHeight();
        QVERIFY(again(*page, [&] { page->findChild<QCheckBox*>(QStringLiteral("tensors"))->click(); }));
        QVERIFY(page->report()->sections.size() < all);
        QVERIFY(preview->documentHeight() < height);
        QVERIFY(preview->verticalScrollBar()->maximum() > 0);
    }

    void severalSpecsInOneReport() {
        const auto page = make();
        const auto rows = page->report()->data.rows.size();
        QCOMPARE(rows, session_->weights().size());
        auto* list = page->findChild<QListWidget*>(QStringLiteral("reportSpecs"));
        QVERIFY(again(*page, [&] { list->item(1)->setCheckState(Qt::Checked); }));
        QCOMPARE(page->report()->data.rows.size(), 2 * rows);
        for (int i = 0; i < list->count(); ++i) list->item(i)->setCheckState(Qt::Unchecked);
        QTRY_VERIFY(!page->findChild<ReportPreview*>()->isVisible()); // a sentence asks for a spec
        QVERIFY(!page->report());
    }

    void everyButtonWritesTheFileItNames() {
        QTemporaryDir folder;
        const auto page = make();
        page->files().setPathChooser([&](const QString& suggested, const ReportWriter&) {
            return folder.filePath(QFileInfo(suggested).fileName());
        });
        for (const auto& writer : reportWriters()) {
            QSignalSpy written(&page->files(), &ReportFiles::written);
            auto* button = page->findChild<QPushButton*>(QStringLiteral("write_") + QString::fromUtf8(writer.id));
            QVERIFY(button->isEnabled());
            QTest::mouseClick(button, Qt::LeftButton);
            QVERIFY2(written.wait(30'000), writer.id);
            const QString path = folder.filePath(page->files().fileName(writer));
            QCOMPARE(written.first().first().toString(), path);
            QVERIFY(path.endsWith(QLatin1String(writer.extension)));
            QVERIFY2(contentOf(path).size() > 500, writer.id);
            QVERIFY(page->findChild<QLabel*>(QStringLiteral("reportStatus"))
                        ->text()
                        .contains(page->files().fileName(writer)));
        }
        const auto html = contentOf(folder.filePath(page->files().fileName(*findReportWriter("html"))));
        QVERIFY(html.contains("<svg"));
        QVERIFY(html.contains("layers.0"));
        QVERIFY(contentOf(folder.filePath(page->files().fileName(*findReportWriter("pdf")))).startsWith("%PDF"));
    }

    void whatCannotBeWrittenIsASentence() {
        const auto page = make();
        QSignalSpy failed(page.get(), &ReportPage::failed), written(&page->files(), &ReportFiles::written);
        auto* button = page->findChild<QPushButton*>(QStringLiteral("write_json"));
        page->files().setPathChooser(
            [](const QString&, const ReportWriter&) { return QStringLiteral("/nonexistent/folder/r.json"); });
        QTest::mouseClick(button, Qt::LeftButton);
        QVERIFY(failed.wait(qs::test::kWait));
        QVERIFY(failed.last().first().toString().contains(QStringLiteral("/nonexistent/folder")));
        // The open model is never overwritten.
        const QString source = QString::fromStdString(session_->model()->files.front().path);
        const auto size = QFileInfo(source).size();
        page->files().setPathChooser([&](const QString&, const ReportWriter&) { return source; });
        QTest::mouseClick(button, Qt::LeftButton);
        QTRY_COMPARE_WITH_TIMEOUT(failed.size(), 2, 20'000);
        QCOMPARE(QFileInfo(source).size(), size);
        page->files().setPathChooser([](const QString&, const ReportWriter&) { return QString(); }); // cancelled
        QTest::mouseClick(button, Qt::LeftButton);
        QTest::qWait(20);
        QCOMPARE(written.size(), 0);
    }

    void manyTensorsComeFromTheSession() {
        QTemporaryDir folder;
        session_ = std::make_unique<Session>();
        QVERIFY(openModel(*session_, writeLayeredModel(folder.filePath(QStringLiteral("many.safetensors")), 60, 4)));
        QVERIFY(session_->weights().size() > 400);
        const auto page = make();
        QVERIFY(page->report());
        QCOMPARE(page->report()->data.rows.size(), session_->weights().size());
        // Histograms over all tensors come from the session: the report measures nothing itself.
        const auto drawn = [&](const char* title) {
            const auto& sections = page->report()->sections;
            return std::any_of(sections.begin(), sections.end(), [&](const Section& section) {
                return section.title == title && !section.plots.empty();
            });
        };
        QVERIFY(drawn("Codes") && drawn("Errors"));
        QCOMPARE(session_->pooledHistograms(session_->spec())->error.total(), std::uint64_t(420) * 4 * 64);
        session_ = std::make_unique<Session>();
        QVERIFY(openModel(*session_, samplePath()));
    }

    void whatItWaitsForIsInTheLaneAndCanBeCancelled() {
        constexpr int kLayers = qs::test::kThinning > 1 ? 200 : 700; // long enough to be cancelled
        QTemporaryDir folder;
        Session session;
        QVERIFY(
            openModel(session, writeLayeredModel(folder.filePath(QStringLiteral("some.safetensors")), kLayers, 64)));
        session.cancelJobs();
        QStringList said;
        connect(&session, &Session::jobProgress, this, [&](const Progress& progress) {
            const auto what = QString::fromStdString(progress.what);
            if (said.isEmpty() || said.last() != what) said << what;
        });
        ReportPage page(session);
        page.resize(1356, 802);
        QSignalSpy ready(&page, &ReportPage::reportReady);
        page.show();
        QTRY_VERIFY(!said.isEmpty()); // the session measures what is missing
        session.cancelJobs();
        auto* measure = page.findChild<QPushButton*>(QStringLiteral("measureMissing"));
        QTRY_VERIFY(measure->isVisible()); // it does not start again by itself
        QVERIFY(!session.busy() && ready.isEmpty());
        measure->click();
        QTRY_COMPARE_WITH_TIMEOUT(ready.size(), 1, 200'000);
        QVERIFY(!measure->isVisible());
        QVERIFY2(said.contains(QStringLiteral("Composing the report")), qPrintable(said.join(u'|')));
        QCOMPARE(page.report()->data.rows.size(), session.weights().size());
        QTRY_VERIFY(!session.busy());

        // Cancelled while the report is composed: there is no result, and a new request works.
        said.clear();
        page.findChild<QCheckBox*>(QStringLiteral("tensors"))->click();
        QTRY_VERIFY(said.contains(QStringLiteral("Composing the report")));
        session.cancelJobs();
        QTRY_VERIFY(measure->isVisible() || ready.size() == 2); // or it was already complete
        if (measure->isVisible()) measure->click();
        QTRY_COMPARE_WITH_TIMEOUT(ready.size(), 2, 60'000);
    }

    void pictures() {
        for (const auto mode : {Theme::Mode::Dark, Theme::Mode::Light})
            for (const QSize size : {QSize(1356, 802), QSize(2476, 1342)}) {
                Theme::instance().setMode(mode);
                const auto page = make(size);
                const QString name =
                    QStringLiteral("-%1-%2")
                        .arg(mode == Theme::Mode::Dark ? QStringLiteral("dark") : QStringLiteral("light"))
                        .arg(size.width());
                keepPicture(*page, QStringLiteral("report") + name);
                page->findChild<ReportPreview*>()->verticalScrollBar()->setValue(760);
                keepPicture(*page, QStringLiteral("report-plots") + name);
            }
    }
};

QS_TEST(TestReportPage)
#include "report_page_test.moc"
