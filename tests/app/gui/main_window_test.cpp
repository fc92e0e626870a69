// SPDX-License-Identifier: GPL-3.0-or-later
// The window operated by events: pages, drops, errors, banners, and state over a restart.
#include "app/gui/main_window.h"
#include "app/gui/page.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/banner.h"
#include "core/layouts/layout.h"
#include "tests/app/gui/artefacts.h"
#include "tests/app/gui/model_file.h"
#include "tests/app/gui/opened_session.h"
#include "tests/support/test_program.h"

#include <QApplication>
#include <QDropEvent>
#include <QLabel>
#include <QMimeData>
#include <QPushButton>
#include <QSettings>
#include <QTemporaryDir>
#include <QToolButton>

using namespace qs;
using namespace qs::gui;

class TestMainWindow : public QObject {
    Q_OBJECT
    QTemporaryDir home_;

private Q_SLOTS:
    void initTestCase() {
        QCoreApplication::setOrganizationName(QStringLiteral("QuantScope"));
        QCoreApplication::setApplicationName(QStringLiteral("QuantScopeTest"));
        QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, home_.path());
        Theme::install(Theme::Mode::Dark);
    }

    void everyPageOpensAndIsDrawn() {
        Session session;
        MainWindow window(session);
        window.show();
        QVERIFY(QTest::qWaitForWindowExposed(&window, qs::test::kWait));
        keepPicture(window, QStringLiteral("window-start-empty"));
        QVERIFY(openModel(session, samplePath()));
        QVERIFY(everythingMeasured(session, session.spec()));
        for (const auto mode : {Theme::Mode::Dark, Theme::Mode::Light}) {
            Theme::instance().setMode(mode);
            for (const auto& page : pages()) {
                const auto id = QString::fromLatin1(page.id);
                QTest::mouseClick(window.findChild<QToolButton*>(QStringLiteral("rail-") + id), Qt::LeftButton);
                QCOMPARE(session.page(), id);
                QVERIFY(window.currentPage()->isVisible());
                QVERIFY(tensorMeasured(session));
                QTest::qWait(30);
                const auto picture = window.grab().toImage();
                QCOMPARE(picture.size(), window.size());
                QCOMPARE(picture.pixelColor(2, window.height() / 2), Theme::instance().tokens().surface);
                keepPicture(window,
                            QStringLiteral("window-%1-%2")
                                .arg(id, mode == Theme::Mode::Dark ? QStringLiteral("dark") : QStringLiteral("light")));
            }
        }
        Theme::instance().setMode(Theme::Mode::Dark);
    }

    /// A file written by `quantize` shows its stored fields. The button of the banner shows the decoded tensors.
    void storedTensorsAreDecoded() {
        const QTemporaryDir folder;
        const auto source = folder.filePath(QStringLiteral("m.safetensors"));
        const auto stored = folder.filePath(QStringLiteral("stored.safetensors"));
        QVERIFY(!writeLayeredModel(source, 1, 16).isEmpty());
        const auto model = qs::openModel(source.toStdString());
        QVERIFY(model);
        QVERIFY(qs::quantizeModel(**model, {*qs::parseSpec("nf4:block=32"), "q_proj|k_proj", "", stored.toStdString()},
                                  qs::Job()));
        Session session;
        MainWindow window(session);
        window.show();
        QVERIFY(openModel(session, source));
        QVERIFY(!session.hasStored() && window.message().isEmpty());
        QVERIFY(openModel(session, stored));
        const std::string name = "model.layers.0.self_attn.q_proj.weight";
        QVERIFY(session.hasStored() && !session.model()->find(name) && session.model()->find(name + ".packed"));
        QTRY_VERIFY(window.message().contains(QStringLiteral("stored quantized")));
        session.showPage(QStringLiteral("labs"));
        QTest::qWait(30);
        keepPicture(window, QStringLiteral("window-stored"));
        auto* decode = window.findChild<QPushButton*>(QStringLiteral("bannerAction"));
        QVERIFY(decode->isVisible());
        QSignalSpy changed(&session, &Session::modelChanged);
        QTest::mouseClick(decode, Qt::LeftButton);
        QTRY_VERIFY(changed.size() == 1 && session.model());
        QVERIFY(!session.hasStored() && window.message().isEmpty() && !session.model()->find(name + ".packed"));
        QCOMPARE(session.model()->path, stored.toStdString());
        QTRY_COMPARE(session.page(), QStringLiteral("labs"));
        const auto* tensor = session.model()->find(name);
        QVERIFY(tensor && tensor->shape == (std::vector<std::int64_t>{16, 64}));
        session.selectTensor(tensor);
        session.setSpec(*qs::parseSpec("nf4:block=32")); // nf4 of the decoded values gives the same values, except for
                                                         // rounding to BF16
        QVERIFY(tensorMeasured(session));
        QVERIFY(*qs::findMetric("nmse")->value(*session.current()) < 1e-5);
    }

    /// A refused spec comes with buttons for specs that fit.
    void aRefusalHasButtons() {
        Session session;
        MainWindow window(session);
        window.show();
        QVERIFY(openModel(session, samplePath()));
        session.showPage(QStringLiteral("tensor"));
        session.selectTensor(session.weights().front());
        session.setSpec(*qs::parseSpec("q4_k")); // needs blocks of 256; rows of the sample are shorter
        QVERIFY(tensorMeasured(session));
        auto* refusal = window.findChild<Banner*>(QStringLiteral("refusal"));
        QTRY_VERIFY(refusal->isVisible());
        QVERIFY2(refusal->text().contains(QStringLiteral("q4_k")), qPrintable(refusal->text()));
        const auto offers = refusal->findChildren<QPushButton*>(QStringLiteral("bannerAction"));
        QVERIFY(!offers.isEmpty());
        keepPicture(window, QStringLiteral("window-refusal"));
        const QString wanted = offers.front()->text();
        QTest::mouseClick(offers.front(), Qt::LeftButton);
        QCOMPARE(QStringLiteral("Use ") + QString::fromStdString(qs::specText(session.spec())), wanted);
        QTRY_VERIFY(session.current() && !session.currentIsStale() && session.current()->status == qs::Status::Ok);
        QTRY_VERIFY(!refusal->isVisible());
        QVERIFY(everythingMeasured(session, session.spec()));
        QCOMPARE(session.modelRows(session.spec()).refused(), qsizetype(0)); // the offered spec fits all tensors, not
                                                                             // only this one
    }

    void errorIsShownInPlaceAndTheWindowGoesOn() {
        Session session;
        MainWindow window(session);
        window.show();
        const auto broken = home_.filePath(QStringLiteral("broken.safetensors"));
        QFile file(broken);
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write("not a checkpoint at all");
        file.close();
        session.open(broken);
        auto* error = window.findChild<QLabel*>(QStringLiteral("openError"));
        QTRY_VERIFY(error->isVisible());
        QVERIFY2(error->text().contains(QLatin1String("broken.safetensors")), qPrintable(error->text()));
        keepPicture(window, QStringLiteral("window-open-error"));
        QVERIFY(openModel(session, samplePath()));
        QVERIFY(!error->isVisible());
        // With a model open, the message is shown above the page and the model stays open.
        session.open(broken);
        QTRY_VERIFY(!window.message().isEmpty());
        QVERIFY(session.model());
        QVERIFY(tensorMeasured(session));
    }

    void dropOpens() {
        Session session;
        MainWindow window(session);
        window.show();
        QMimeData mime;
        mime.setUrls({QUrl::fromLocalFile(samplePath())});
        QDragEnterEvent enter({600, 400}, Qt::CopyAction, &mime, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(&window, &enter);
        QVERIFY(enter.isAccepted());
        QDropEvent drop({600, 400}, Qt::CopyAction, &mime, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(&window, &drop);
        QTRY_VERIFY(session.model());
        QMimeData text;
        text.setText(QStringLiteral("hello"));
        QDragEnterEvent refused({600, 400}, Qt::CopyAction, &text, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(&window, &refused);
        QVERIFY(!refused.isAccepted());
    }

    /// A folder of the Hugging Face cache: every file is a link to a blob with a meaningless name.
    void aFolderOfTheHubCacheOpens() {
        const QString cache = home_.filePath(QStringLiteral("hub/models--org--tiny"));
        const QString snapshot = cache + QStringLiteral("/snapshots/0123abcd");
        QVERIFY(QDir().mkpath(snapshot) && QDir().mkpath(cache + QStringLiteral("/blobs")));
        const auto link = [&](const QString& blob, const QString& name) {
            return QFile::link(QStringLiteral("../../blobs/") + blob, snapshot + u'/' + name);
        };
        QStringList map;
        for (const int layer : {0, 1}) {
            const QString tensor = QStringLiteral("model.layers.%1.mlp.up_proj.weight").arg(layer);
            const QString blob = QStringLiteral("feed%1").arg(layer);
            const QString shard = QStringLiteral("model-0000%1-of-00002.safetensors").arg(layer + 1);
            QVERIFY(writeModelFile(cache + QStringLiteral("/blobs/") + blob,
                                   {{tensor, {64, 64}, normalValues(64 * 64, 0.02, quint64(layer) + 1)}}));
            QVERIFY(link(blob, shard));
            map << QStringLiteral("\"%1\":\"%2\"").arg(tensor, shard);
        }
        QFile index(cache + QStringLiteral("/blobs/beef"));
        QVERIFY(index.open(QIODevice::WriteOnly));
        index.write(
            QStringLiteral("{\"metadata\":{\"total_size\":32768},\"weight_map\":{%1}}").arg(map.join(u',')).toUtf8());
        index.close();
        QVERIFY(link(QStringLiteral("beef"), QStringLiteral("model.safetensors.index.json")));

        Session session;
        MainWindow window(session);
        window.show();
        QMimeData mime;
        mime.setUrls({QUrl::fromLocalFile(snapshot)});
        QDragEnterEvent enter({600, 400}, Qt::CopyAction, &mime, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(&window, &enter);
        QDropEvent drop({600, 400}, Qt::CopyAction, &mime, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(&window, &drop);
        QTRY_VERIFY(session.model());
        QCOMPARE(session.weights().size(), std::size_t(2));
        QCOMPARE(session.model()->warnings.size(), std::size_t(0));
        QVERIFY2(window.windowTitle().startsWith(QStringLiteral("org/tiny")), qPrintable(window.windowTitle()));
        QVERIFY(everythingMeasured(session, session.spec()));
        QTRY_COMPARE(session.page(), QStringLiteral("overview"));
        for (std::size_t i = 0; i < 2; ++i) QVERIFY(session.modelRows(session.spec()).at(i)->status == Status::Ok);
        keepPicture(window, QStringLiteral("window-hub-cache"));

        // The folder above may contain several snapshots. The message names one, and the window does not change.
        QSignalSpy refused(&session, &Session::failed);
        session.open(cache);
        QTRY_COMPARE(refused.size(), 1);
        QVERIFY(refused.front().front().toString().contains(QStringLiteral("snapshots/0123abcd")));
        QTRY_VERIFY(window.message().contains(QStringLiteral("snapshots/0123abcd")));
        QCOMPARE(session.weights().size(), std::size_t(2));
    }

    void stateSurvivesARestart() {
        const auto recent = samplePath();
        {
            Session session;
            keepSaved(session, 20);
            QVERIFY(openModel(session, recent));
            session.selectTensor(session.weights()[7]);
            session.setSpec(*parseSpec("int8:block=32"));
            session.showPage(QStringLiteral("tensor"));
            QTest::qWait(120); // the state as a crash would leave it: nothing is saved at the end
            QCOMPARE(readState(QSettings()), session.state());
        }
        Session session;
        keepSaved(session);
        QTRY_VERIFY(!session.recentFiles().isEmpty());
        QCOMPARE(QFileInfo(session.recentFiles().front()).canonicalFilePath(), QFileInfo(recent).canonicalFilePath());
        MainWindow window(session);
        window.show();
        QVERIFY(!session.model()); // the last model is offered, not opened
        QSignalSpy opened(&session, &Session::modelChanged);
        session.restore(session.formerRun().last);
        QVERIFY(opened.wait(20000));
        QCOMPARE(session.tensor(), session.weights()[7]);
        QCOMPARE(canonicalText(session.spec()), canonicalText(*parseSpec("int8:block=32")));
        QTRY_COMPARE(session.page(), QStringLiteral("tensor"));
        QVERIFY(tensorMeasured(session));
    }
};

QS_TEST(TestMainWindow)
#include "main_window_test.moc"
