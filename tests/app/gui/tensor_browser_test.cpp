// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/clipboard.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/tensor_browser.h"
#include "app/gui/widgets/tensor_tree.h"
#include "tests/app/gui/artefacts.h"
#include "tests/app/gui/model_file.h"
#include "tests/app/gui/opened_session.h"
#include "tests/support/test_program.h"

#include <QAbstractItemModelTester>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QRegularExpression>
#include <QStyle>
#include <QTemporaryDir>
#include <QToolButton>
#include <QTreeView>

using namespace qs;
using namespace qs::gui;

namespace {

// Names of the leaves that a view shows with its filter.
QStringList leaves(const QAbstractItemModel& model, const QModelIndex& parent = {}) {
    QStringList out;
    for (int row = 0; row < model.rowCount(parent); ++row) {
        const auto index = model.index(row, 0, parent);
        if (model.hasChildren(index))
            out << leaves(model, index);
        else
            out << index.data().toString();
    }
    return out;
}

} // namespace

class TestTensorBrowser : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { Theme::install(Theme::Mode::Dark); }

    void modelsObeyTheRules() {
        Session session;
        TensorTree tree(session);
        QAbstractItemModelTester treeRules(&tree, QAbstractItemModelTester::FailureReportingMode::QtTest);
        QVERIFY(openModel(session, samplePath()));
        tree.followModel();
        QCOMPARE(leaves(tree).size(), qsizetype(session.model()->tensors.size()));
        QVERIFY(everythingMeasured(session, session.spec()));
        tree.refreshValues(false);
        for (const auto& tensor : session.model()->tensors) QCOMPARE(tree.tensor(tree.indexOf(&tensor)), &tensor);
        tree.setFlat(true);
        QCOMPARE(tree.rowCount(), int(session.model()->tensors.size()));
        for (const auto& tensor : session.model()->tensors) QCOMPARE(tree.tensor(tree.indexOf(&tensor)), &tensor);
        const auto* embedding = session.model()->find("model.embed_tokens.weight");
        const auto* query = session.model()->find("model.layers.1.self_attn.q_proj.weight");
        QVERIFY(embedding && query);
        for (const bool flat : {true, false}) {
            tree.setFlat(flat);
            const QPersistentModelIndex gone(tree.indexOf(embedding)), kept(tree.indexOf(query));
            tree.setFilter(QRegularExpression(QStringLiteral("q_proj")));
            QVERIFY(!gone.isValid());
            QCOMPARE(tree.tensor(kept), query);
            for (const int column : {TensorTree::MetricValue, TensorTree::Bytes, TensorTree::Name}) {
                tree.sort(column, Qt::DescendingOrder);
                QCOMPARE(tree.tensor(kept), query);
                QCOMPARE(leaves(tree).size(), tree.shown());
            }
            tree.sort(TensorTree::Name, Qt::AscendingOrder);
            tree.setFilter({});
            QCOMPARE(leaves(tree).size(), qsizetype(session.model()->tensors.size()));
        }
        session.close();
        tree.followModel();
        QCOMPARE(tree.rowCount(), 0);
    }

    /// The experts of a layer are rows with different names.
    void expertsHaveTheirNumber() {
        QTemporaryDir folder;
        std::vector<ModelTensor> tensors;
        for (int layer = 0; layer < 2; ++layer)
            for (int expert = 0; expert < 3; ++expert)
                tensors.push_back(
                    {QStringLiteral("model.layers.%1.mlp.experts.%2.up_proj.weight").arg(layer).arg(expert),
                     {2, 32},
                     std::vector<float>(64, 1.f)});
        const QString path = folder.filePath(QStringLiteral("experts.safetensors"));
        QVERIFY(writeModelFile(path, tensors));
        Session session;
        TensorTree tree(session);
        QVERIFY(openModel(session, path));
        tree.followModel();
        const QStringList shown = leaves(tree);
        QCOMPARE(shown.size(), 6);
        QCOMPARE(shown.mid(0, 3), QStringList({QStringLiteral("experts.0.up_proj"), QStringLiteral("experts.1.up_proj"),
                                               QStringLiteral("experts.2.up_proj")}));
    }

    /// A wrong regular expression gets a frame and a message.
    void aWrongFilterIsSeen() {
        Session session;
        TensorBrowser browser(session);
        browser.resize(300, 500);
        browser.show();
        QVERIFY(openModel(session, samplePath()));
        auto* filter = browser.findChild<QLineEdit*>(QStringLiteral("filter"));
        filter->setFocus();
        QTest::keyClicks(filter, QStringLiteral("q_proj"));
        QTRY_VERIFY(browser.findChild<QLabel*>(QStringLiteral("shownCount"))->text().contains(u"of"));
        const QImage before = filter->grab().toImage();
        QTest::keyClicks(filter, QStringLiteral("("));
        QTRY_COMPARE(browser.findChild<QLabel*>(QStringLiteral("shownCount"))->text(), QStringLiteral("not a regex"));
        const QImage after = filter->grab().toImage();
        keepPicture(browser, QStringLiteral("browser_wrong_filter"));
        const QPoint edge(after.width() / 2, 0);
        QVERIFY(before.pixel(edge) != after.pixel(edge)); // the frame
        QTest::keyClick(filter, Qt::Key_Backspace);
        QTRY_VERIFY(browser.findChild<QLabel*>(QStringLiteral("shownCount"))->text().contains(u"of"));
    }

    void aRowHasAMenu() {
        Session session;
        TensorBrowser browser(session);
        browser.resize(300, 500);
        browser.show();
        QVERIFY(openModel(session, samplePath()));
        auto* view = browser.view();
        const auto* tensor = session.model()->find("lm_head.weight");
        session.selectTensor(tensor);
        QTRY_VERIFY(view->currentIndex().isValid());
        Q_EMIT view->customContextMenuRequested(view->visualRect(view->currentIndex()).center());
        auto* menu = browser.findChild<QMenu*>(QStringLiteral("tensorMenu"));
        QVERIFY(menu && menu->isVisible());
        QStringList names;
        for (const auto* action : menu->actions())
            if (!action->objectName().isEmpty()) names << action->objectName();
        QCOMPARE(names, QStringList({QStringLiteral("tensorKeep"), QStringLiteral("tensorThisSpec"),
                                     QStringLiteral("tensorLock"), QStringLiteral("tensorCopyName"),
                                     QStringLiteral("tensorCodebook")}));
        QTest::keyClick(menu, Qt::Key_Down);
        QTest::keyClick(menu, Qt::Key_Return);
        QCOMPARE(session.rules(), QStringLiteral("^lm_head\\.weight$=keep\n"));
    }

    /// A view gets rows when it needs them: up to the selected one, or all if all are selected.
    void aLongListIsFetchedAsItIsReached() {
        QTemporaryDir folder;
        QByteArray header = "{";
        for (int i = 0; i < 50'300; ++i)
            header += (i ? ",\"" : "\"") + QByteArray::number(i) +
                      "\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}";
        header += '}';
        QByteArray file;
        for (int i = 0; i < 8; ++i) file.append(char(std::uint64_t(header.size()) >> (8 * i)));
        const QString path = folder.filePath(QStringLiteral("many.safetensors"));
        QFile out(path);
        QVERIFY(out.open(QIODevice::WriteOnly) && out.write(file + header) > 0 && out.flush());
        Session session;
        TensorBrowser browser(session);
        TensorTree tree(session);
        QVERIFY(openModel(session, path));
        tree.followModel();
        QTRY_COMPARE(tree.shown(), 50'300);
        QCOMPARE(tree.rowCount(), 50'000);
        QVERIFY(tree.canFetchMore({}));
        const auto& last = session.model()->tensors.back();
        const auto index = tree.indexOf(&last);
        QCOMPARE(index.row(), 50'299);
        QCOMPARE(tree.tensor(index), &last);
        QVERIFY(!tree.canFetchMore({}));
        const QPersistentModelIndex kept(index);
        tree.sort(TensorTree::Name, Qt::DescendingOrder);
        QTRY_COMPARE(kept.row(), 0);
        QCOMPARE(tree.rowCount(), 50'000);
        auto* view = browser.view();
        QTRY_COMPARE(qobject_cast<TensorTree*>(view->model())->shown(), 50'300);
        view->selectAll();
        QCOMPARE(view->selectionModel()->selectedRows().size(), 50'300);
    }

    void unmeasuredIsSaidNotZero() {
        QTemporaryDir folder;
        Session session;
        TensorTree tree(session);
        QVERIFY(openModel(session, writeLayeredModel(folder.filePath(QStringLiteral("m.safetensors")), 2, 8)));
        session.cancelJobs();
        session.setSpec(*parseSpec("int8")); // nothing is measured with it
        tree.followModel();
        tree.setFlat(true);
        QCOMPARE(tree.index(0, TensorTree::MetricValue).data().toString(), QStringLiteral("not measured"));
        QVERIFY(!tree.index(0, TensorTree::MetricValue).data(TensorTree::Bar).isValid());
        QVERIFY(everythingMeasured(session, session.spec()));
        tree.refreshValues(false);
        QVERIFY(tree.index(0, TensorTree::MetricValue).data().toString() != QStringLiteral("not measured"));
        QVERIFY(tree.index(0, TensorTree::MetricValue).data(TensorTree::Bar).toDouble() > 0);
    }

    void whatIsNotMeasuredIsNotElided() {
        Session session;
        TensorBrowser browser(session);
        browser.resize(300, 700);
        browser.show();
        QVERIFY(openModel(session, samplePath()));
        auto* view = browser.view();
        const int margins = 2 * (view->style()->pixelMetric(QStyle::PM_FocusFrameHMargin, nullptr, view) + 1);
        const int words = QFontMetrics(Theme::words(11)).horizontalAdvance(QStringLiteral("not measured"));
        QVERIFY2(words + margins <= view->columnWidth(TensorTree::MetricValue), qPrintable(QString::number(words)));
    }

    void filterSelectsAndSays() {
        Session session;
        TensorBrowser browser(session);
        browser.resize(300, 700);
        browser.show();
        QVERIFY(openModel(session, samplePath()));
        auto* view = browser.view();
        QTRY_COMPARE(leaves(*view->model()).size(), qsizetype(session.model()->tensors.size()));
        auto* filter = browser.findChild<QLineEdit*>(QStringLiteral("filter"));
        browser.focusFilter();
        QTest::keyClicks(filter, QStringLiteral("layers\\.[01]\\..*q_proj"));
        QTRY_COMPARE(leaves(*view->model()), (QStringList{QStringLiteral("q_proj"), QStringLiteral("q_proj")}));
        filter->setText(QStringLiteral("("));
        QTRY_VERIFY(filter->property("invalid").toBool());
        QVERIFY(!filter->toolTip().isEmpty());
        QCOMPARE(leaves(*view->model()).size(), 2); // the last valid filter stays
        filter->setText(QStringLiteral("v_proj"));
        QTest::keyClick(filter, Qt::Key_Down); // moves the focus into the list, to a tensor
        QVERIFY(view->hasFocus() || !browser.isActiveWindow());
        QTRY_VERIFY(QString::fromStdString(session.tensor()->name).contains(QLatin1String("v_proj")));
    }

    void downInTheFilterSelectsTheFirstMatch() {
        QTemporaryDir folder;
        const auto large = writeLayeredModel(folder.filePath(QStringLiteral("large.safetensors")), 400, 2);
        for (const auto& path : {samplePath(), large}) { // the small list is filtered at once, the large one on a
                                                         // worker thread
            Session session;
            TensorBrowser browser(session);
            browser.resize(300, 700);
            browser.show();
            QVERIFY(openModel(session, path));
            auto* view = browser.view();
            auto* tree = qobject_cast<TensorTree*>(view->model());
            QTRY_COMPARE(tree->shown(), int(session.model()->tensors.size()));
            auto* filter = browser.findChild<QLineEdit*>(QStringLiteral("filter"));
            browser.focusFilter();
            for (const char* text : {"v_proj", "o_proj", "layers.3.*v_proj"}) {
                filter->setText(QString::fromLatin1(text));
                QTest::keyClick(filter, Qt::Key_Down); // before the delay of the filter ends
                QTRY_COMPARE(tree->filter(), QLatin1String(text));
                QTRY_VERIFY(!tree->arranging());
                const QRegularExpression wanted(QString::fromLatin1(text));
                const auto first = std::find_if(session.model()->tensors.begin(), session.model()->tensors.end(),
                                                [&](const TensorInfo& tensor) {
                                                    return wanted.match(QString::fromStdString(tensor.name)).hasMatch();
                                                });
                QTRY_COMPARE(session.tensor(), &*first);
                QCOMPARE(tree->tensor(view->currentIndex()), &*first);
                QCOMPARE(session.selection(), (std::vector<const TensorInfo*>{&*first}));
                QVERIFY(view->visualRect(view->currentIndex()).isValid());
            }
        }
    }

    void opensOnTheFirstWeightOfTheTree() {
        Session session;
        QVERIFY(openModel(session, samplePath()));
        QCOMPARE(QString::fromStdString(session.tensor()->name), QStringLiteral("model.embed_tokens.weight"));
    }

    void aLargeTreeIsFoldedButShowsTheSelectedTensor() {
        QTemporaryDir folder;
        Session session;
        TensorBrowser browser(session);
        browser.resize(300, 700);
        browser.show();
        QVERIFY(openModel(session, writeLayeredModel(folder.filePath(QStringLiteral("m.safetensors")), 400, 1)));
        auto* view = browser.view();
        QTRY_VERIFY(view->model()->rowCount() >= 400);
        const auto* tensor = session.weights()[session.weights().size() / 2];
        session.selectTensor(tensor);
        QTRY_VERIFY(view->currentIndex().parent().isValid());
        const auto group = view->currentIndex().parent();
        QVERIFY(view->isExpanded(group));
        QVERIFY(view->viewport()->rect().intersects(view->visualRect(view->currentIndex())));
        QVERIFY(!view->isExpanded(group.siblingAtRow(group.row() + 1)));
    }

    void tableSortsByMetric() {
        Session session;
        TensorBrowser browser(session);
        browser.resize(520, 700);
        browser.show();
        QVERIFY(openModel(session, samplePath()));
        QVERIFY(everythingMeasured(session, session.spec()));
        QTest::mouseClick(browser.findChild<QToolButton*>(QStringLiteral("asTable")), Qt::LeftButton);
        auto* view = browser.view();
        QTRY_COMPARE(view->model()->rowCount(), int(session.model()->tensors.size()));
        const auto shown = [&] { // the tree takes over rows with a delay
            int count = 0;
            for (int row = 0; row < view->model()->rowCount(); ++row)
                count +=
                    !std::isnan(view->model()->index(row, TensorTree::MetricValue).data(TensorTree::Sort).toDouble());
            return count;
        };
        QTRY_COMPARE(shown(), int(session.weights().size()));
        for (const auto order : {Qt::DescendingOrder, Qt::AscendingOrder}) {
            view->sortByColumn(TensorTree::MetricValue, order);
            double last = 0;
            int measured = 0;
            bool ended = false;
            for (int row = 0; row < view->model()->rowCount(); ++row) {
                const double value =
                    view->model()->index(row, TensorTree::MetricValue).data(TensorTree::Sort).toDouble();
                if (std::isnan(value)) {
                    ended = true;
                    continue;
                }
                QVERIFY(!ended); // rows that are not measured come last
                if (measured++ > 0) QVERIFY(order == Qt::DescendingOrder ? value <= last : value >= last);
                last = value;
            }
            QCOMPARE(measured, int(session.weights().size()));
        }
        const auto tsv = asTsv(*view);
        QCOMPARE(tsv.count(QLatin1Char('\n')), qsizetype(session.model()->tensors.size()) + 1);
        QVERIFY(tsv.startsWith(QLatin1String("Tensor\t")));
        keepPicture(browser, QStringLiteral("browser-table"));
    }
};

QS_TEST(TestTensorBrowser)
#include "tensor_browser_test.moc"
