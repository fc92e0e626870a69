// SPDX-License-Identifier: GPL-3.0-or-later
// In the smallest window, nothing may be cut off, overlap or extend beyond its parent, on any page and in any tab.
#include "app/gui/glossary.h"
#include "app/gui/page.h"
#include "app/gui/page_in_parts.h"
#include "app/gui/pages/compare/compare_plots.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/card.h"
#include "app/gui/widgets/data_table.h"
#include "app/gui/widgets/elided_label.h"
#include "core/analysis/analysis.h"
#include "core/base/text.h"
#include "core/model/derived_tensor.h"
#include "tests/app/gui/artefacts.h"
#include "tests/app/gui/layout_walk.h"
#include "tests/app/gui/model_file.h"
#include "tests/app/gui/settled_window.h"
#include "tests/support/test_program.h"
#include "tests/support/thinned.h"

#include <QButtonGroup>
#include <QComboBox>
#include <QFontDatabase>
#include <QLabel>
#include <QStandardItemModel>
#include <QTableView>
#include <QTemporaryDir>
#include <QToolButton>

#include <algorithm>
#include <map>
#include <set>

using namespace qs;
using namespace qs::gui;

class TestWindowLayout : public QObject {
    Q_OBJECT
    QTemporaryDir folder_;
    std::unique_ptr<Session> session_;
    std::unique_ptr<MainWindow> window_;

    /// All layout faults of the window as it is. A picture is saved for people.
    QStringList wrong(const QString& name) {
        if (!settles(*session_, *window_)) return {name + QStringLiteral(": never settled")};
        keepPicture(*window_, QStringLiteral("small-") + name); // painting sets the tooltips of elided labels
        LayoutWalk walk;
        walk.look(*window_);
        if (walk.texts < 20) walk.found << QStringLiteral("only %1 texts").arg(walk.texts);
        QStringList out;
        for (const auto& sentence : std::as_const(walk.found)) {
            out << name + QStringLiteral(": ") + sentence;
            qWarning("%s", qPrintable(out.last())); // the message of a failed check is cut off
        }
        return out;
    }
    QStringList wrongInTabs(const QString& name) {
        QStringList out = wrong(name);
        const auto buttons = window_->currentPage()->findChildren<QToolButton*>();
        int tab = 0;
        for (auto* button : buttons) {
            if (!button->group() || !button->isVisible() || button->isChecked()) continue;
            QTest::mouseClick(button, Qt::LeftButton);
            out << wrong(name + QStringLiteral("-%1").arg(++tab));
        }
        return out;
    }

private Q_SLOTS:
    /// Every card of every page has an info mark. It can be reached by keyboard and names the formulas.
    void everyCardIsExplained() {
        Session session;
        QVERIFY(openModel(session, samplePath()));
        for (const auto& row : pages()) {
            const std::unique_ptr<QWidget> page(row.create(session, nullptr));
            if (auto* parts = dynamic_cast<PageInParts*>(page.get())) parts->makeAllParts();
            const bool needed = row.usesSpecBar || row.usesBrowser;
            for (const auto* card : page->findChildren<Card*>()) {
                const auto* mark = card->findChild<QToolButton*>(QStringLiteral("about"), Qt::FindDirectChildrenOnly);
                if (!mark && !needed) continue;
                QVERIFY2(mark, qPrintable(QLatin1String(row.id) + u' ' + card->accessibleName()));
                QVERIFY(mark->focusPolicy() & Qt::TabFocus);
                QVERIFY(!mark->accessibleDescription().isEmpty());
            }
        }
        std::set<QString> titles;
        for (const auto& entry : cardEntries()) {
            QVERIFY2(titles.insert(QString::fromUtf8(entry.title)).second, entry.title);
            const QString about = aboutCard(QString::fromUtf8(entry.title));
            for (const QString& id : QString::fromLatin1(entry.metrics).split(u' ', Qt::SkipEmptyParts)) {
                const auto* metric = findMetric(id.toStdString());
                QVERIFY2(metric, qPrintable(id));
                QVERIFY(about.contains(QString::fromStdString(metricTip(*metric))));
            }
        }
    }

    /// Wherever a metric is chosen or shown, its tip says the formula, the unit and the direction.
    void everyMetricSaysItsUnitAndDirection() {
        Session session;
        MainWindow window(session);
        QVERIFY(openModel(session, samplePath()));
        session.showPage(kOverviewPage);
        for (const char* name : {"metricChoice", "metric"}) { // of the overview, and of the list of tensors
            const auto* choice = window.findChild<QComboBox*>(QLatin1String(name));
            QVERIFY2(choice && choice->count() == int(metrics().size()), name);
            for (int i = 0; i < choice->count(); ++i) {
                const auto* metric = findMetric(choice->itemData(i).toString().toStdString());
                const QString tip = choice->itemData(i, Qt::ToolTipRole).toString();
                QVERIFY2(tip.startsWith(QString::fromStdString(metricTip(*metric))), qPrintable(tip));
            }
        }
        const auto tipsOf = [](const QWidget& widget, const QString& text) {
            QStringList tips;
            for (const auto* label : widget.findChildren<QLabel*>())
                if (label->text() == text) tips << label->toolTip();
            return tips;
        };
        QVERIFY(tipsOf(window, QStringLiteral("SQNR dB ↑")).contains(QString::fromStdString(metricTip(sqnrMetric()))));
        const std::unique_ptr<QWidget> evidence(kEvidencePage.create(session, nullptr));
        if (auto* parts = dynamic_cast<PageInParts*>(evidence.get())) parts->makeAllParts();
        const QStringList tips = tipsOf(*evidence, QStringLiteral("Mean KL, nats ↓"));
        QVERIFY(!tips.isEmpty() && tips[0].endsWith(QStringLiteral(". Unit: nats. Lower is better.")));
        const auto rows = figureRows(nullptr, nullptr); // of compare
        for (const Metric& metric : metrics())
            QVERIFY2(std::any_of(rows.begin(), rows.end(),
                                 [&](const FigureRow& row) { return row.tip == metricTip(metric); }),
                     metric.id);
    }

    void theTypeIsNotWhatANarrowBarLeavesOut() {
        Session session;
        MainWindow window(session);
        window.show();
        QVERIFY(openModel(session, samplePath()));
        const auto* facts = window.findChild<QLabel*>(QStringLiteral("modelFacts"));
        for (const int width : {1280, 1440, 2560}) {
            window.resize(width, 900);
            QCoreApplication::processEvents();
            QVERIFY2(facts->text().endsWith(QStringLiteral("MiB · BF16")), qPrintable(facts->text()));
            QVERIFY(facts->text().startsWith(QStringLiteral("75")));
            QVERIFY(facts->fontMetrics().horizontalAdvance(facts->text()) <= facts->width());
        }
    }

    /// Of several types, the bar names the one with the most bytes and the number of the others; the tip has all.
    void allTypesAreInTheTip() {
        Session session;
        MainWindow window(session);
        window.resize(1440, 900);
        window.show();
        QVERIFY(openModel(session, QStringLiteral(QS_SOURCE_DIR "/tests/data/eval/gguf/bert.gguf")));
        std::map<QString, std::uint64_t> bytes;
        for (const TensorInfo& tensor : session.model()->tensors)
            bytes[QString::fromUtf8(tensor.typeId())] += storedBytes(tensor);
        QVERIFY(bytes.size() > 1);
        const auto most = std::ranges::max_element(bytes, {}, [](const auto& one) { return one.second; });
        const auto* facts = window.findChild<QLabel*>(QStringLiteral("modelFacts"));
        QVERIFY2(facts->text().endsWith(QStringLiteral("%1 +%2").arg(most->first).arg(bytes.size() - 1)),
                 qPrintable(facts->text()));
        for (const auto& [type, size] : bytes)
            QVERIFY2(facts->toolTip().contains(
                         QStringLiteral("\n%1: %2").arg(type, QString::fromStdString(bytesText(size)))),
                     qPrintable(facts->toolTip()));
    }

    /// Where there is little room, the number of tensors is left out; size and type are not cut.
    void theSizeIsNotCutInANarrowBar() {
        const QString path = folder_.filePath(QStringLiteral("many.safetensors"));
        std::vector<ModelTensor> tensors;
        for (int i = 0; i < 10'000; ++i)
            tensors.push_back({QStringLiteral("t%1").arg(i), {13}, std::vector<float>(13)});
        QVERIFY(writeModelFile(path, tensors));
        Session session;
        MainWindow window(session);
        window.resize(1280, 720);
        window.show();
        QVERIFY(openModel(session, path));
        const auto* facts = window.findChild<QLabel*>(QStringLiteral("modelFacts"));
        QCOMPARE(facts->text(), QStringLiteral("507.81 KiB · F32"));
        QVERIFY(facts->toolTip().startsWith(QStringLiteral("10000 tensors")));
    }

    /// The width that is left goes to the last column if it holds text, else to the first: never to a number.
    void theWidthThatIsLeftIsNotANumbers() {
        QStandardItemModel rows(1, 3);
        QTableView table;
        table.setModel(&rows);
        for (int i = 1; i < 3; ++i) rows.setHeaderData(i, Qt::Horizontal, int(Qt::AlignRight), Qt::TextAlignmentRole);
        table.resize(600, 100);
        table.show();
        fillWidth(table, 100);
        table.setColumnWidth(1, 80), table.setColumnWidth(2, 90);
        QTRY_COMPARE(table.columnWidth(2), 90);
        QTRY_COMPARE(table.columnWidth(0), table.viewport()->width() - 170);
        table.resize(700, 100);
        QTRY_COMPARE(table.columnWidth(0), table.viewport()->width() - 170);
        table.setColumnWidth(1, 900); // no room is left
        QTRY_COMPARE(table.columnWidth(0), 100);
        table.setColumnWidth(1, 80);
        rows.setHeaderData(2, Qt::Horizontal, int(Qt::AlignLeft), Qt::TextAlignmentRole);
        table.setColumnWidth(1, 81);
        QTRY_COMPARE(table.columnWidth(0), 100);
        QTRY_COMPARE(table.columnWidth(2), table.viewport()->width() - 181);
        table.setColumnHidden(2, true);
        QTRY_COMPARE(table.columnWidth(0), table.viewport()->width() - 81);
    }

    /// A label that is cut at the right loses whole parts, and shows nothing rather than a few letters.
    void aCutLabelLosesWholeParts() {
        const auto drawn = [](const QString& text, int width) {
            ElidedLabel label(Qt::ElideRight);
            label.setText(text);
            label.setFixedSize(width, 20);
            return label.grab().toImage();
        };
        const QString part = QStringLiteral("80.29 MiB");
        ElidedLabel measure(Qt::ElideRight);
        const int width = measure.fontMetrics().horizontalAdvance(part + QStringLiteral("   1."));
        QCOMPARE(drawn(part + QStringLiteral("   1.15x of all"), width), drawn(part, width));
        QVERIFY(drawn(QStringLiteral("one long part alone"), width) != drawn(QString(), width)); // with an ellipsis
        QCOMPARE(drawn(QStringLiteral("one long part alone"), 20), drawn(QString(), 20));
    }

    void initTestCase() {
        const auto fonts = QFontDatabase::families();
        if (!fonts.contains(QStringLiteral("Inter")) || !fonts.contains(QStringLiteral("JetBrains Mono")))
            QSKIP("Inter and JetBrains Mono, for which the window is laid out, are not installed");
        Theme::install(Theme::Mode::Light);
        session_ = std::make_unique<Session>();
        window_ = std::make_unique<MainWindow>(*session_);
        window_->resize(window_->minimumSize());
        window_->show();
        QCOMPARE(window_->size(), QSize(1280, 680));
        // For every page and tab. Slow builds use a small model instead of the 75 tensors of the sample.
        const QString small = folder_.filePath(QStringLiteral("small.safetensors"));
        QVERIFY(openModel(*session_, qs::test::kThinning > 1 ? writeLayeredModel(small, 2, 64) : samplePath()));
        QVERIFY(everythingMeasured(*session_, session_->spec()));
    }

    /// Tests the layout check itself: each widget here has one fault.
    void whatIsWrongIsFound() {
        QWidget window;
        window.resize(200, 200);
        auto* cut = new QLabel(QStringLiteral("much too long for its place"), &window);
        cut->setGeometry(0, 0, 40, 20);
        auto* elided = new ElidedLabel(Qt::ElideRight, &window);
        elided->setText(QStringLiteral("much too long for its place"));
        elided->setGeometry(0, 30, 40, 20);
        auto* over = new QPushButton(QStringLiteral("A"), &window);
        over->setGeometry(20, 10, 60, 26); // overlaps the label
        auto* out = new QPushButton(QStringLiteral("B"), &window);
        out->setGeometry(180, 100, 60, 26);
        auto* wide = new QPushButton(QStringLiteral("a long name for a button"), &window);
        wide->setGeometry(0, 140, 30, 26);
        auto* box = new QComboBox(&window);
        box->addItem(QStringLiteral("a long item"));
        box->setGeometry(100, 140, 40, 26);
        window.show();
        window.grab();
        LayoutWalk walk;
        walk.look(window);
        const QString all = walk.found.join(u'\n');
        const auto count = [&](const char* what) {
            return std::count_if(walk.found.begin(), walk.found.end(),
                                 [what](const auto& sentence) { return sentence.contains(QLatin1String(what)); });
        };
        QVERIFY2(count("needs") == 3 && count("overlaps") == 2 && count("sticks out") == 1, qPrintable(all));
        elided->setToolTip(QString()); // elided, without a tooltip with the whole text
        walk.found.clear();
        walk.look(window);
        QCOMPARE(count("needs"), 4);
    }

    void everyPage_data() {
        QTest::addColumn<bool>("comparing");
        for (const auto& page : pages())
            for (const bool comparing : {false, true})
                if (page.usesSpecBar || !comparing)
                    QTest::addRow("%s%s", page.id, comparing ? "-two-specs" : "") << comparing;
    }
    void everyPage() {
        QFETCH(bool, comparing);
        const QString name = QString::fromLatin1(QTest::currentDataTag());
        const QString id = name.section(u'-', 0, 0);
        session_->setComparing(comparing);
        QTest::mouseClick(window_->findChild<QToolButton*>(QStringLiteral("rail-") + id), Qt::LeftButton);
        QTRY_VERIFY(window_->currentPage()->objectName().endsWith(id));
        const QStringList found = wrongInTabs(name);
        QVERIFY2(found.isEmpty(), qPrintable(u'\n' + found.join(u'\n')));
    }

    /// With the longest texts in the job lane and the banner.
    void whileSomethingRunsAndFails() {
        session_->showPage(QStringLiteral("tensor"));
        QVERIFY(settles(*session_, *window_));
        Q_EMIT session_->failed(QStringLiteral("/models/a-directory/model-00001-of-00030.safetensors: tensor "
                                               "'model.layers.11.self_attn.rotary_emb.inv_freq' ends at byte "
                                               "18446744073709551615 and the file has 4 GiB: open the whole file"));
        Q_EMIT session_->jobProgress({.done = 3,
                                      .total = 7,
                                      .what = "Analysing model.layers.111.block_sparse_moe.experts.7.down_proj.weight",
                                      .items = 12345,
                                      .itemsTotal = 99999},
                                     5400);
        const QStringList found = wrong(QStringLiteral("busy"));
        QVERIFY2(found.isEmpty(), qPrintable(u'\n' + found.join(u'\n')));
    }
};

QS_TEST(TestWindowLayout)
#include "window_layout_test.moc"
