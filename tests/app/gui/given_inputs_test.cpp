// SPDX-License-Identifier: GPL-3.0-or-later
// Metrics on layer inputs in the overview: a reason until a file is loaded, then the figures of the command line.
#include "app/gui/page.h"
#include "app/gui/pages/overview/overview_rows.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/card.h"
#include "app/gui/widgets/inputs_button.h"
#include "artefacts.h"
#include "choose_file.h"
#include "model_file.h"
#include "opened_session.h"
#include "tests/support/test_program.h"

#include <QComboBox>
#include <QMenu>
#include <QProcess>
#include <QTemporaryDir>

using namespace qs;
using namespace qs::gui;

class TestGivenInputs : public QObject {
    Q_OBJECT
    QTemporaryDir folder_;
    QString model_, inputs_;
    std::unique_ptr<Session> session_;
    std::unique_ptr<QWidget> page_;

    QString path(const char* name) const { return folder_.filePath(QLatin1String(name)); }
    void choose(const char* metric) {
        auto* box = page_->findChild<QComboBox*>(QStringLiteral("metricChoice"));
        box->setCurrentIndex(box->findData(QLatin1String(metric)));
        Q_EMIT box->activated(box->currentIndex());
    }
    QAction* action(int at) { return page_->findChild<InputsButton*>()->menu()->actions().at(at); }
    Card* mapCard() { return qobject_cast<Card*>(page_->findChild<HeatMap*>()->parentWidget()); }
    std::optional<double> figure(const char* metric, std::size_t weight = 0) {
        const auto& row = session_->modelRows(session_->spec()).at(weight);
        return row ? findMetric(metric)->value(*row) : std::nullopt;
    }
    bool load(const QString& file) {
        action(0)->trigger();
        return chooseFile(*page_, file);
    }

private Q_SLOTS:
    void initTestCase() {
        Theme::install(Theme::Mode::Dark);
        model_ = path("model.safetensors");
        inputs_ = path("inputs.safetensors");
        QVERIFY(writeModelFile(model_, {{QStringLiteral("w"), {2, 2}, {0.5f, -2, 0, 1}},
                                        {QStringLiteral("z"), {16, 64}, normalValues(1024, 0.02, 3)}}));
        QVERIFY(writeModelFile(inputs_, {{QStringLiteral("w"), {1, 2}, {1, 2}},
                                         {QStringLiteral("z"), {24, 64}, normalValues(1536, 1, 4)}}));
        session_ = std::make_unique<Session>();
        session_->setSpec(*parseSpec("binary"));
        page_.reset(createOverviewPage(*session_, nullptr));
        page_->setAutoFillBackground(true);
        page_->resize(1056, 802);
        page_->show();
        QVERIFY(openModel(*session_, model_));
        QVERIFY(everythingMeasured(*session_, session_->spec()));
    }

    void theReasonIsShownUntilInputsAreLoaded() {
        for (const char* metric : {"weighted_nmse", "output_nmse", "hessian_trace"}) {
            choose(metric);
            QTRY_VERIFY2(mapCard()->message().contains(QStringLiteral("Load activations")), metric);
            QVERIFY(!figure(metric));
        }
        QTest::qWait(100);
        keepPicture(*page_, QStringLiteral("inputs-none"));
        choose("nmse");
        QTRY_VERIFY(mapCard()->message().isEmpty());
    }

    /// All tensors are measured again, and every row knows the dtype of the decoded values.
    void errorsAsTheSourceHoldsThem() {
        const auto measuredAs = [&](DType type) {
            const auto& rows = session_->modelRows(session_->spec());
            return rows.at(0) && rows.at(0)->decodedAs == type && session_->current() &&
                   session_->current()->decodedAs == type;
        };
        QFile half(path("half.safetensors"));
        const QByteArray header(R"({"w":{"dtype":"BF16","shape":[2,2],"data_offsets":[0,8]}})");
        const quint64 length = quint64(header.size());
        QVERIFY(half.open(QIODevice::WriteOnly));
        half.write(reinterpret_cast<const char*>(&length), 8);
        half.write(header + QByteArray::fromHex("003f00c00000803f"));
        half.close();
        QVERIFY(openModel(*session_, half.fileName()));
        QVERIFY(everythingMeasured(*session_, session_->spec()) && tensorMeasured(*session_));
        QVERIFY(measuredAs(DType::F32));
        session_->setDecodedAs(DecodedAs::Source);
        QVERIFY(everythingMeasured(*session_, session_->spec()));
        QTRY_VERIFY(measuredAs(DType::BF16));
        session_->setDecodedAs(DecodedAs::F32);
        QVERIFY(everythingMeasured(*session_, session_->spec()));
        QTRY_VERIFY(measuredAs(DType::F32));
        QVERIFY(openModel(*session_, model_));
        QVERIFY(everythingMeasured(*session_, session_->spec()));
    }

    /// E = {0.5, 1; 1, 0} for W = {0.5, -2; 0, 1}, with one input {1, 2}: E[x^2] = {1, 4}.
    void figuresAreThoseOfTheCommandLine() {
        choose("output_nmse");
        QVERIFY(load(inputs_));
        QTRY_VERIFY(session_->inputs().file);
        QVERIFY(everythingMeasured(*session_, session_->spec()));
        QCOMPARE(figure("output_nmse"), std::optional(7.25 / 16.25));
        QCOMPARE(figure("weighted_nmse"), std::optional(5.25 / 20.25));
        QCOMPARE(figure("hessian_trace"), std::optional(11.25));
        QCOMPARE(figure("nmse"), std::optional(2.25 / 5.25));
        QTRY_VERIFY(mapCard()->message().isEmpty());
        QVERIFY(page_->findChild<InputsButton*>()->text().contains(QStringLiteral("inputs")));
        QTRY_COMPARE(page_->findChild<RankedBars*>(QStringLiteral("rankedBars"))->count(), 2);
        QTest::qWait(100);
        keepPicture(*page_, QStringLiteral("inputs-loaded"));
        QProcess command;
        command.start(QStringLiteral(QS_BIN_DIR "/quantscope-cli"),
                      {QStringLiteral("analyze"), model_, QStringLiteral("--spec"), QStringLiteral("binary"),
                       QStringLiteral("--activations"), inputs_, QStringLiteral("--json"), QStringLiteral("-")});
        QVERIFY(command.waitForFinished(60'000));
        QCOMPARE(command.exitCode(), 0);
        const auto rows =
            QJsonDocument::fromJson(command.readAllStandardOutput()).object()[QStringLiteral("rows")].toArray();
        QCOMPARE(rows.size(), qsizetype(2));
        for (std::size_t at = 0; at < 2; ++at) {
            const auto row = rows[qsizetype(at)].toObject();
            QCOMPARE(row[QStringLiteral("tensor")].toString().toStdString(), session_->weights()[at]->name);
            for (const char* metric : {"output_nmse", "weighted_nmse", "hessian_trace", "nmse"})
                QCOMPARE(figure(metric, at), std::optional(row[QLatin1String(metric)].toDouble()));
        }
        // The selected tensor, shown on the compare page, has these figures too.
        QVERIFY(tensorMeasured(*session_));
        QCOMPARE(findMetric("output_nmse")->value(*session_->current()), figure("output_nmse"));
    }

    void syntheticOnesAndNone() {
        action(1)->trigger();
        QVERIFY(session_->inputs().synthetic && !session_->inputs().file);
        QVERIFY(everythingMeasured(*session_, session_->spec()));
        QVERIFY(*figure("output_nmse") > 0 && figure("output_nmse") != 7.25 / 16.25);
        action(3)->trigger();
        QVERIFY(!session_->inputs().any());
        QVERIFY(everythingMeasured(*session_, session_->spec()));
        QVERIFY(!figure("output_nmse"));
        QCOMPARE(figure("nmse"), std::optional(2.25 / 5.25));
    }

    void aFileThatDoesNotFitSaysWhyAndIsLeftOut() {
        const QString wrong = path("wrong.safetensors");
        QVERIFY(writeModelFile(wrong, {{QStringLiteral("w"), {1, 3}, {1, 2, 3}}}));
        QSignalSpy failed(session_.get(), &Session::failed);
        QVERIFY(load(wrong));
        QTRY_VERIFY(failed.size() >= 1);
        QVERIFY2(failed[0][0].toString().contains(QStringLiteral("last axis of 2")),
                 qPrintable(failed[0][0].toString()));
        QTRY_VERIFY(!session_->inputs().any());
        QVERIFY(everythingMeasured(*session_, session_->spec()));
        QCOMPARE(figure("nmse"), std::optional(2.25 / 5.25));
        // A cancelled dialog changes nothing. If a file has no inputs for these layers, the card says what is missing.
        QVERIFY(load({}) && !session_->inputs().any());
        const QString other = path("other.safetensors");
        QVERIFY(writeModelFile(other, {{QStringLiteral("v"), {1, 2}, {1, 2}}}));
        QVERIFY(load(other));
        QTRY_VERIFY(session_->inputs().file);
        QVERIFY(everythingMeasured(*session_, session_->spec()));
        QTRY_VERIFY(mapCard()->message().contains(QStringLiteral("holds no inputs of these layers")));
        session_->setInputs({});
    }

    void anotherModelHasInputsOfItsOwn() {
        session_->setInputs({.file = nullptr, .synthetic = true});
        QVERIFY(openModel(*session_, model_));
        QTRY_VERIFY(!session_->inputs().any());
    }
};

QS_TEST(TestGivenInputs)
#include "given_inputs_test.moc"
