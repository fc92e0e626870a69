// SPDX-License-Identifier: GPL-3.0-or-later
// The evidence page by mouse and keyboard: the sample's text, figures that are those of core/eval, cancel, refusals with
// a button for what works, a text of token ids, a session that is opened again, and pictures.
#include "app/gui/page.h"
#include "app/gui/pages/evidence/evidence_choice.h"
#include "app/gui/pages/evidence/evidence_figures.h"
#include "app/gui/pages/evidence/evidence_imports.h"
#include "app/gui/pages/evidence/evidence_output.h"
#include "app/gui/pages/evidence/evidence_page.h"
#include "app/gui/pages/evidence/evidence_tensors.h"
#include "app/gui/pages/evidence/evidence_tokens.h"
#include "app/gui/pages/evidence/evidence_trust.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/banner.h"
#include "app/gui/widgets/plot_chart.h"
#include "app/gui/widgets/ranked_bars.h"
#include "app/gui/widgets/small_multiples.h"
#include "app/gui/widgets/tick_list.h"
#include "artefacts.h"
#include "core/analysis/proxy_trust.h"
#include "core/base/text.h"
#include "core/eval/run/base_reference.h"
#include "core/session/kept_evidence.h"
#include "core/session/kept_sensitivity.h"
#include "opened_session.h"
#include "tests/support/test_program.h"

#include <QAbstractItemModelTester>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSignalSpy>
#include <QSpinBox>
#include <QTableView>
#include <QTemporaryDir>

using namespace qs;
using namespace qs::gui;

class TestEvidencePage : public QObject {
    Q_OBJECT

    QTemporaryDir folder_;
    std::unique_ptr<Session> session_;
    std::unique_ptr<QWidget> page_;

    template<class T> T* the(const char* name) const { return page_->findChild<T*>(QLatin1String(name)); }
    EvidencePage* evidence() const { return static_cast<EvidencePage*>(page_.get()); }
    void click(const char* name) { QTest::mouseClick(the<QAbstractButton>(name), Qt::LeftButton); }
    bool quiet() {
        QTest::qWait(20);
        return QTest::qWaitFor([&] { return !evidence()->running(); }, 150'000);
    }
    QString trouble() const { return the<Banner>("evidenceTrouble")->text(); }
    QPushButton* remedy() const {
        const auto buttons = the<Banner>("evidenceTrouble")->findChildren<QPushButton*>(QStringLiteral("bannerAction"));
        const auto seen =
            std::find_if(buttons.begin(), buttons.end(), [](const auto* one) { return one->isVisible(); });
        return seen == buttons.end() ? nullptr : *seen;
    }
    void onlyTick(const QStringList& specs) {
        auto* list = the<TickList>("evidenceSpecs");
        for (int i = 0; i < list->count(); ++i) list->item(i)->setCheckState(Qt::Unchecked);
        auto* typed = the<QLineEdit>("evidenceAdd");
        for (const QString& spec : specs) {
            QTest::keyClicks(typed, spec);
            QTest::keyClick(typed, Qt::Key_Return);
        }
    }
    QString write(const char* name, const QByteArray& bytes) {
        const QString path = folder_.filePath(QLatin1String(name));
        QFile file(path);
        if (!file.open(QIODevice::WriteOnly) || file.write(bytes) != bytes.size()) return {};
        return path;
    }

    /// What was measured stands in the rows of the session, which all pages show, and proxies carry their trust.
    void theyAreMetricsOnOtherPages(const std::vector<eval::SensitivityRow>& rows) {
        const QuantSpec spec = *parseSpec("int3:block=32");
        session_->setSpec(spec);
        session_->analyseModel(spec);
        QTRY_COMPARE_WITH_TIMEOUT(session_->modelRows(spec).size(), qsizetype(session_->weights().size()), 60'000);
        std::size_t seen = 0;
        for (const auto& row : rows) {
            const int weight = session_->weightIndex(session_->model()->find(row.unit));
            const auto value = klAloneMetric().value(*session_->modelRows(spec).at(std::size_t(weight)));
            QVERIFY(value);
            QCOMPARE(*value, row.divergence->mean);
            ++seen;
        }
        QCOMPARE(seen, rows.size());
        // It is computed while rows arrive, and once more after the last of them.
        const auto judged = [&] {
            const auto* trust = session_->output().trust(nmseMetric(), spec);
            return trust ? trust->agreement.items : 0;
        };
        QTRY_COMPARE_WITH_TIMEOUT(judged(), rows.size(), 30'000);
        const QString text = session_->output().trustText(nmseMetric(), spec);
        QVERIFY2(text.contains(u"τ") && text.contains(u"KL alone"), qPrintable(text));
        QVERIFY(session_->output().trustText(klAloneMetric(), spec).isEmpty());
        QVERIFY(session_->output().trustText(nmseMetric(), *parseSpec("int8")).contains(u"not measured"));
        const auto before = keptSensitivity(evidence()->tensors()->known());
        QVERIFY(session_->kept().contains(QStringLiteral("sensitivity")));
        QVERIFY(sensitivityKept(before));
    }

    void importedFiguresJoin() {
        QByteArray header = "QTYPE", values = "\nint3";
        for (int layer = 0; layer < 8; ++layer) {
            header += ",blk." + QByteArray::number(layer) + ".attn_k.weight";
            values += "," + QByteArray::number(layer + 1);
        }
        auto* imports = evidence()->trust()->imports();
        QSignalSpy settled(imports, &EvidenceImports::settled);
        imports->read({write("kld_results.csv", header + values + "\n").toStdString(), {}, {}});
        QVERIFY(settled.wait(10'000));
        QCOMPARE(imports->columns().size(), std::size_t(1));
        QVERIFY(!imports->columns()[0].floor);
        auto* floor = the<QLineEdit>("evidenceImportFloor");
        QTRY_VERIFY(floor->isVisible());
        QTest::keyClicks(floor, QStringLiteral("0.25"));
        QTest::keyClick(floor, Qt::Key_Return);
        QTRY_VERIFY(imports->columns()[0].floor);
        QCOMPARE(imports->columns()[0].floor->value, 0.25);
        QTRY_VERIFY(evidence()->trust()->table()->model()->rowCount() >= 2);
        const auto* table = evidence()->trust()->table()->model();
        bool shown = false;
        for (int i = 0; i < table->rowCount(); ++i)
            shown |= table->index(i, 0).data().toString().startsWith(QStringLiteral("Imported kl_mean"));
        QVERIFY(shown);
        QTest::qWait(60);
        keepPicture(*page_, QStringLiteral("evidence-trust-imported"));
        imports->read({write("nothing.txt", "hello").toStdString(), {}, {}});
        QVERIFY(settled.wait(10'000));
        QVERIFY(the<QLabel>("evidenceImportStatus")->text().contains(u"none of what can be imported"));
        click("evidenceImportRemove");
        QVERIFY(imports->columns().empty());
    }

private Q_SLOTS:
    void initTestCase() {
        qputenv("XDG_CACHE_HOME", folder_.path().toLocal8Bit()); // of finished runs
        Theme::install(Theme::Mode::Dark);
        session_ = std::make_unique<Session>();
        page_.reset(createEvidencePage(*session_, nullptr));
        page_->resize(1356, 802); // the size left in a window of 1440x900
        page_->show();
        QVERIFY(QTest::qWaitForWindowExposed(page_.get(), qs::test::kWait));
        QVERIFY(openModel(*session_, samplePath()));
        QTest::qWait(100);
        keepPicture(*page_, QStringLiteral("evidence-empty"));
    }

    /// A newcomer with the sample needs one click; the context is one that the sample was trained for.
    void theSampleTakesOneClick() {
        QVERIFY(the<QPushButton>("evidenceSample")->isVisible());
        QVERIFY(!the<QPushButton>("evidenceStart")->isEnabled()); // no text yet
        QTRY_COMPARE(the<QSpinBox>("evidenceContext")->value(), 256);
        onlyTick({QStringLiteral("nf4:block=32"), QStringLiteral("int3:block=32")});
        the<QSpinBox>("evidenceChunks")->setValue(9);
        click("evidenceSample");
        QVERIFY(evidence()->running() && the<QPushButton>("evidenceStop")->isVisible());
        QVERIFY(quiet());
        QVERIFY2(evidence()->record(), qPrintable(trouble()));
        QCOMPARE(evidence()->record()->changes.size(), std::size_t(2));
        for (const auto mode : {Theme::Mode::Light, Theme::Mode::Dark}) {
            Theme::instance().setMode(mode);
            for (const QSize size : {QSize(2476, 1302), QSize(1196, 582), QSize(1356, 802)}) {
                page_->resize(size);
                QTest::qWait(60);
                keepPicture(*page_, QStringLiteral("evidence-%1-%2")
                                        .arg(size.width())
                                        .arg(mode == Theme::Mode::Dark ? u"dark" : u"light"));
            }
        }
    }

    void figuresAreThoseOfTheCore() {
        eval::EvaluationPlan plan;
        auto text = eval::textFromFile(*session_->model(),
                                       (samplePath() + QStringLiteral("/heldout.txt")).toStdString(), Job());
        QVERIFY(text);
        plan.text = *text;
        plan.context = 256, plan.chunks = 9;
        for (const char* spec : {"nf4:block=32", "int3:block=32"})
            plan.changes.push_back(eval::quantizedAs(*parseSpec(spec), {.asStored = true}));
        const auto result = eval::evaluate(session_->model(), plan, Job());
        QVERIFY(result);
        auto* output = evidence()->output();
        const auto* table = output->table()->model();
        QCOMPARE(table->rowCount(), 2);
        QAbstractItemModelTester tester(output->table()->model());
        for (int row = 0; row < 2; ++row) {
            const auto expected = eval::summarize(result->scores[std::size_t(row)]);
            const auto& shown = evidence()->record()->changes[std::size_t(row)].row.summary;
            QVERIFY(expected && shown);
            QCOMPARE(shown->divergence.mean, expected->divergence.mean);
            QCOMPARE(shown->perplexity, expected->perplexity);
            QCOMPARE(shown->largestDivergence, expected->largestDivergence);
            output->table()->selectRow(row);
            QCOMPARE(output->figures()->text("kld"),
                     QString::fromStdString(significantText(expected->divergence.mean, 4)));
            // The curve ends at the mean; the distribution holds all tokens; the worst token is the maximum.
            const auto& lines = output->running()->series();
            const auto line = std::find_if(lines.begin(), lines.end(), [&](const PlotSeries& one) {
                return one.style == PlotSeries::Style::Line &&
                       one.name == QString::fromStdString(plan.changes[std::size_t(row)].name);
            });
            QVERIFY(line != lines.end());
            QVERIFY(std::fabs(line->points.back().y() / expected->divergence.mean - 1) < 1e-9);
            QCOMPARE(line->points.back().x(), double(expected->tokens));
            double all = 0;
            for (const auto& bar : output->distribution()->series().front().points) all += bar.y();
            QVERIFY(all > 90 && all < 100.001);
            QCOMPARE(output->worst()->model()->rowCount(), 100);
            QVERIFY(std::fabs(output->worst()->model()->index(0, 0).data(Qt::UserRole).toDouble() -
                              expected->largestDivergence) < 1e-12);
        }
        // The word of the text that the first of the worst tokens stands in.
        const auto& change = evidence()->record()->changes[1];
        QVERIFY(!change.worst.empty() && change.worst[0].token.size() == 1); // tokens of the sample are bytes
        QVERIFY(change.worst[0].before.size() <= 24);
        QCOMPARE(session_->output().evidence(), evidence()->record());
    }

    void whatIsKeptComesBack() {
        const auto& record = *evidence()->record();
        const std::string text = keptEvidence(record);
        const auto back = evidenceKept(text);
        QVERIFY2(back, back ? "" : back.error().message.c_str());
        QCOMPARE(QString::fromStdString(keptEvidence(*back)), QString::fromStdString(text));
        QCOMPARE(back->changes[0].row.summary->divergence.mean, record.changes[0].row.summary->divergence.mean);
        for (const std::size_t n : {std::size_t(0), text.size() / 3, text.size() - 2})
            QVERIFY(!evidenceKept(text.substr(0, n)));
        const auto with = [&](const char* what, const char* instead) {
            QByteArray bytes = QByteArray::fromStdString(text);
            bytes.replace(what, instead);
            return bytes.toStdString();
        };
        QVERIFY(!evidenceKept(with("\"context\":256", "\"context\":1")));
        QVERIFY(!evidenceKept(with("\"context\":256", "\"context\":3"))); // positions lie beyond it
        QVERIFY(!evidenceKept(with("\"bins\":[", "\"bins\":[7,")));
    }

    void cancelKeepsWhatWasThere() {
        const auto before = evidence()->record();
        the<QSpinBox>("evidenceChunks")->setValue(0);
        click("evidenceStart");
        QVERIFY(evidence()->running());
        QTest::qWait(30);
        click("evidenceStop");
        QVERIFY(!evidence()->running());
        QCOMPARE(evidence()->record(), before);
        QVERIFY(the<QLabel>("evidenceStatus")->text().contains(u"ancelled"));
        QVERIFY(the<QPushButton>("evidenceStart")->isVisible());
        QCOMPARE(evidence()->output()->table()->model()->rowCount(), 2);
    }

    /// A text that is too short is refused in one sentence, and the button makes it work.
    void aShortTextIsRefusedWithWhatWorks() {
        evidence()->choice()->setText(write("short.txt", QByteArray(100, 'a')), false);
        click("evidenceStart");
        QVERIFY(quiet());
        QVERIFY2(trouble().contains(u"100 tokens"), qPrintable(trouble()));
        QTRY_VERIFY(remedy());
        QCOMPARE(remedy()->text(), QStringLiteral("Use a context of 64"));
        QTest::mouseClick(remedy(), Qt::LeftButton);
        QVERIFY(quiet());
        QCOMPARE(evidence()->record()->context, std::size_t(64));
        QCOMPARE(evidence()->record()->chunks, std::size_t(1));
        QVERIFY(!evidence()->record()->changes[0].row.summary->divergence.byChunk); // of one chunk there is none
        the<QSpinBox>("evidenceContext")->setValue(512);
        click("evidenceStart");
        QVERIFY(quiet());
        QVERIFY2(trouble().contains(u"256 positions"), qPrintable(trouble()));
        QTRY_VERIFY(remedy());
        QCOMPARE(remedy()->text(), QStringLiteral("Use a context of 256"));
    }

    void tokenIdsAreTaken() {
        QByteArray ids;
        for (int i = 0; i < 300; ++i) ids += QByteArray::number(32 + i * 7 % 90) + ' ';
        evidence()->choice()->setText(write("ids.txt", ids), true);
        the<QSpinBox>("evidenceContext")->setValue(128);
        click("evidenceStart");
        QVERIFY(quiet());
        QVERIFY2(evidence()->record()->ids, qPrintable(trouble()));
        QVERIFY(evidence()->record()->changes[0].worst[0].token.starts_with("["));
    }

    /// Each matrix alone, on the text of ids: bars from the largest, a click that opens the tensor, and the trust meter.
    void tensorsAreMeasuredAndJudged() {
        onlyTick({QStringLiteral("int3:block=32")});
        click("evidenceTabTensors");
        auto* tensors = evidence()->tensors();
        QVERIFY(tensors->isVisible());
        click("evidenceTensorStart");
        QVERIFY(tensors->running());
        QVERIFY(QTest::qWaitFor([&] { return !tensors->running(); }, 150'000));
        const auto rows = tensors->rows();
        QVERIFY2(rows.size() >= 50, qPrintable(the<QLabel>("evidenceTensorStatus")->text()));
        auto* bars = tensors->bars();
        QCOMPARE(bars->count(), int(rows.size()));
        double most = 0;
        for (const auto& row : rows) most = std::max(most, row.divergence->mean);
        QCOMPARE(bars->bar(0).value, most);
        for (int i = 1; i < bars->count(); ++i) QVERIFY(bars->bar(i - 1).value >= bars->bar(i).value);
        QVERIFY(bars->bar(0).text.contains(u'±'));
        QTest::qWait(60);
        keepPicture(*page_, QStringLiteral("evidence-tensors"));
        click("evidenceTabTrust");
        QTRY_VERIFY(evidence()->trust()->table()->model()->rowCount() > 0);
        QCOMPARE(evidence()->trust()->table()->model()->index(0, 0).data().toString(), QStringLiteral("NMSE"));
        QCOMPARE(evidence()->trust()->plots()->panels().front().dots.size(), rows.size());
        QTest::qWait(60);
        keepPicture(*page_, QStringLiteral("evidence-trust"));
        theyAreMetricsOnOtherPages(rows);
        importedFiguresJoin();
        click("evidenceTabTensors");
        QTest::mouseClick(bars->viewport(), Qt::LeftButton, {}, bars->barRect(0).center());
        QCOMPARE(session_->page(), QStringLiteral("tensor"));
        QVERIFY(session_->tensor());
        click("evidenceTabOutput");
    }

    /// A base-logits file of llama.cpp in the place of the model's own predictions; its tokens are the text.
    void aBaseFileIsTheReference() {
        eval::EvaluationPlan plan;
        plan.context = 64, plan.chunks = 2;
        for (int i = 0; i < 128; ++i) plan.text.tokens.push_back(32 + i * 7 % 90);
        const std::string path = folder_.filePath(QStringLiteral("base.kld")).toStdString();
        auto saver = eval::BaseSaver::of(path, plan);
        QVERIFY(saver);
        plan.compared = [&](const eval::LogitRows& rows) { return saver->take(rows); };
        QVERIFY(eval::evaluate(session_->model(), plan, Job()) && saver->finish(Job()));
        click("evidenceTabTrust");
        auto* imports = evidence()->trust()->imports();
        QSignalSpy settled(imports, &EvidenceImports::settled);
        imports->read({path, {}, {}});
        QVERIFY(settled.wait(10'000));
        QCOMPARE(evidence()->choice()->settings().base, path);
        evidence()->choice()->setText({}, false);
        click("evidenceTabOutput");
        onlyTick({QStringLiteral("int4:block=32")});
        QVERIFY(the<QPushButton>("evidenceStart")->isEnabled());
        click("evidenceStart");
        QVERIFY(quiet());
        QVERIFY2(trouble().isEmpty(), qPrintable(trouble()));
        QCOMPARE(evidence()->record()->textPath, path);
        QCOMPARE(evidence()->record()->tokens, std::size_t(128));
        QVERIFY(evidence()->record()->changes[0].row.floor);
        click("evidenceOwnReference");
        QVERIFY(evidence()->choice()->settings().base.empty());
    }

    /// A file of tensors alone has no network: the sentence says so, a button opens what works.
    void aFileWithoutConfigIsRefused() {
        const QString path = folder_.filePath(QStringLiteral("alone.safetensors"));
        QVERIFY(!writeLayeredModel(path, 1, 32).isEmpty());
        QVERIFY(openModel(*session_, path));
        QTRY_VERIFY(!trouble().isEmpty());
        QVERIFY2(trouble().contains(u"config.json"), qPrintable(trouble()));
        QTRY_VERIFY(remedy());
        QVERIFY(!the<QPushButton>("evidenceStart")->isEnabled());
        QVERIFY(!evidence()->record() && !session_->output().evidence());
        keepPicture(*page_, QStringLiteral("evidence-refused"));
        QTest::mouseClick(remedy(), Qt::LeftButton);
        QCOMPARE(session_->page(), QStringLiteral("start"));
        session_->close();
    }

    void cleanupTestCase() {
        page_.reset();
        session_.reset();
    }
};

QS_TEST(TestEvidencePage)
#include "evidence_page_test.moc"
