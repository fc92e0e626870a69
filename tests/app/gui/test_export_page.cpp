// SPDX-License-Identifier: GPL-3.0-or-later
// The export page: a layout is chosen, the model written and proved, the certificate shown, and an earlier one opened.
#include "app/gui/pages/export_page.h"
#include "app/gui/theme.h"
#include "artefacts.h"
#include "opened_session.h"

#include <QComboBox>
#include <QLabel>
#include <QPushButton>
#include <QTableView>
#include <QTemporaryDir>

#include <memory>

using namespace qs;
using namespace qs::gui;

class TestExportPage : public QObject {
    Q_OBJECT
    std::unique_ptr<Session> session_;

    std::unique_ptr<ExportPage> make() {
        auto page = std::make_unique<ExportPage>(*session_);
        page->setAutoFillBackground(true);
        page->resize(1356, 802);
        page->show();
        return page;
    }
    static void choose(ExportPage& page, const char* layout) {
        auto* box = page.findChild<QComboBox*>(QStringLiteral("exportLayout"));
        box->setCurrentIndex(box->findData(QString::fromLatin1(layout)));
    }
    static QString textOf(ExportPage& page, const char* name) {
        return page.findChild<QLabel*>(QString::fromLatin1(name))->text();
    }

private Q_SLOTS:
    void initTestCase() {
        Theme::install(Theme::Mode::Dark);
        session_ = std::make_unique<Session>();
        QVERIFY(openModel(*session_, samplePath()));
        session_->setSpec(*parseSpec("nf4:block=64"));
    }

    void everyLayoutSaysWhetherItTakesTheSpec() {
        const auto page = make();
        auto* write = page->findChild<QPushButton*>(QStringLiteral("exportWrite"));
        choose(*page, "eformer");
        QVERIFY(write->isEnabled());
        choose(*page, "bnb");
        QVERIFY(!write->isEnabled());
        QVERIFY(textOf(*page, "exportTakes").contains(QStringLiteral("nf4:dialect=bnb")));
        session_->setSpec(*parseSpec("nf4:dialect=bnb"));
        QVERIFY(write->isEnabled());
        session_->setSpec(*parseSpec("nf4:block=64"));
    }

    void writesProvesAndShows() {
        QTemporaryDir folder;
        const auto page = make();
        choose(*page, "eformer");
        page->setOutputChooser([&](const QString&) { return folder.filePath(QStringLiteral("out")); });
        QSignalSpy exported(page.get(), &ExportPage::exported);
        QTest::mouseClick(page->findChild<QPushButton*>(QStringLiteral("exportWrite")), Qt::LeftButton);
        QVERIFY(exported.wait(60'000));
        QVERIFY(page->certificate() && page->certificate()->proof.proved());
        QVERIFY(textOf(*page, "proofHeadline").contains(QStringLiteral("4.5")));
        auto* table = page->findChild<QTableView*>(QStringLiteral("proofTable"));
        QCOMPARE(table->model()->rowCount(), int(session_->model()->tensors.size()));
        QCOMPARE(page->findChild<QTableView*>(QStringLiteral("certifiedFiles"))->model()->rowCount(),
                 int(page->certificate()->files.size()));
        keepPicture(*page, QStringLiteral("export_page"));

        // The same from the file, in a window that wrote nothing.
        const auto later = make();
        QVERIFY(!later->certificate());
        later->setCertificateChooser(
            [&](const QString&) { return folder.filePath(QStringLiteral("out/certificate.json")); });
        QTest::mouseClick(later->findChild<QPushButton*>(QStringLiteral("openCertificate")), Qt::LeftButton);
        QVERIFY(later->certificate());
        QCOMPARE(certificateText(*later->certificate()), certificateText(*page->certificate()));
    }

    /// One file of a kind that another process lays out and reads: chosen by its name, written by a click, in both themes.
    void writesHdf5() {
        for (const auto mode : {Theme::Mode::Dark, Theme::Mode::Light}) {
            Theme::install(mode);
            QTemporaryDir folder;
            const auto page = make();
            auto* box = page->findChild<QComboBox*>(QStringLiteral("exportLayout"));
            box->setFocus();
            QTest::keyClicks(box, QStringLiteral("hdf"));
            QCOMPARE(box->currentText(), QStringLiteral("HDF5"));
            QString suggested;
            page->setOutputChooser([&](const QString& name) {
                suggested = name;
                return folder.filePath(QStringLiteral("model.h5"));
            });
            QSignalSpy exported(page.get(), &ExportPage::exported);
            QTest::mouseClick(page->findChild<QPushButton*>(QStringLiteral("exportWrite")), Qt::LeftButton);
            QVERIFY(exported.wait(60'000));
            QVERIFY2(suggested.endsWith(QStringLiteral(".h5")), qPrintable(suggested));
            QVERIFY(page->certificate() && page->certificate()->proof.proved());
            QCOMPARE(page->certificate()->layout, std::string("hdf5"));
            QCOMPARE(page->certificate()->files.front().name, std::string("model.h5"));
            keepPicture(*page, mode == Theme::Mode::Dark ? QStringLiteral("export_page_hdf5_dark")
                                                         : QStringLiteral("export_page_hdf5_light"));
        }
        Theme::install(Theme::Mode::Dark);
    }

    void whatCannotBeWrittenIsASentence() {
        const auto page = make();
        choose(*page, "eformer");
        QSignalSpy failed(page.get(), &ExportPage::failed);
        page->setOutputChooser([](const QString&) { return QStringLiteral("/nonexistent/folder/out"); });
        QTest::mouseClick(page->findChild<QPushButton*>(QStringLiteral("exportWrite")), Qt::LeftButton);
        QVERIFY(failed.wait(20'000));
        QVERIFY(failed.last().first().toString().contains(QStringLiteral("/nonexistent/folder")));
        QVERIFY(!page->certificate());
        page->setCertificateChooser([](const QString&) { return samplePath() + QStringLiteral("/config.json"); });
        QTest::mouseClick(page->findChild<QPushButton*>(QStringLiteral("openCertificate")), Qt::LeftButton);
        QCOMPARE(failed.size(), 2);
        QVERIFY(failed.last().first().toString().contains(QStringLiteral("not a certificate")));
    }
};

QTEST_MAIN(TestExportPage)
#include "test_export_page.moc"
