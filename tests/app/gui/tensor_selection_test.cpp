// SPDX-License-Identifier: GPL-3.0-or-later
// The selected tensors in the browser, as a tree and as a table.
#include "app/gui/theme.h"
#include "app/gui/widgets/tensor_browser.h"
#include "tests/app/gui/artefacts.h"
#include "tests/app/gui/opened_session.h"
#include "tests/support/test_program.h"

#include <QToolButton>
#include <QTreeView>

using namespace qs;
using namespace qs::gui;

class TestTensorSelection : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { Theme::install(Theme::Mode::Dark); }

    void selectionGoesBothWays() {
        Session session;
        TensorBrowser browser(session);
        browser.resize(300, 700);
        browser.show();
        QVERIFY(openModel(session, samplePath()));
        auto* view = browser.view();
        QTRY_VERIFY(view->currentIndex().isValid());
        const auto* other = session.weights()[5];
        session.selectTensor(other);
        QTRY_COMPARE(
            view->currentIndex().siblingAtColumn(0).data(Qt::ToolTipRole).toString().section(QLatin1Char('\n'), 0, 0),
            QString::fromStdString(other->name));
        QTest::keyClick(view, Qt::Key_Down);
        QVERIFY(session.tensor() != other);
        QTest::keyClick(view, Qt::Key_Down, Qt::ShiftModifier);
        QCOMPARE(session.selection().size(), std::size_t(2));
        const auto* before = session.tensor();
        browser.moveCurrent(1);
        QVERIFY(session.tensor() != before);
        keepPicture(browser, QStringLiteral("browser-tree"));
    }

    /// Several rows selected in the table stay selected in the tree. A Ctrl-click that removes one keeps the others.
    void severalRowsStaySelectedInTheTree() {
        Session session;
        TensorBrowser browser(session);
        browser.resize(300, 700);
        browser.show();
        QVERIFY(QTest::qWaitForWindowExposed(&browser, qs::test::kWait));
        QVERIFY(openModel(session, samplePath()));
        auto* view = browser.view();
        QTRY_VERIFY(view->currentIndex().isValid());
        QTest::mouseClick(browser.findChild<QToolButton*>(QStringLiteral("asTable")), Qt::LeftButton);
        const auto click = [&](int row, Qt::KeyboardModifiers with) {
            const auto index = view->model()->index(row, 0);
            QTest::mouseClick(view->viewport(), Qt::LeftButton, with, view->visualRect(index).center());
        };
        click(1, Qt::NoModifier);
        click(4, Qt::ControlModifier);
        click(7, Qt::ControlModifier);
        click(8, Qt::ControlModifier);
        QCOMPARE(session.selection().size(), std::size_t(4));
        click(8, Qt::ControlModifier); // now the current row, but not selected
        QCOMPARE(session.selection().size(), std::size_t(3));
        QCOMPARE(view->selectionModel()->selectedRows().size(), 3);
        const auto chosen = session.selection();
        QTest::mouseClick(browser.findChild<QToolButton*>(QStringLiteral("asTree")), Qt::LeftButton);
        QTRY_COMPARE(view->selectionModel()->selectedRows().size(), 3);
        QCOMPARE(session.selection().size(), std::size_t(3));
        const auto picture = browser.grab().toImage();
        for (const auto& index : view->selectionModel()->selectedRows()) {
            const auto name = index.data(Qt::ToolTipRole).toString().section(u'\n', 0, 0).toStdString();
            QVERIFY2(
                std::any_of(chosen.begin(), chosen.end(), [&](const auto* tensor) { return tensor->name == name; }),
                name.c_str());
            const auto row = view->visualRect(index);
            if (!view->viewport()->rect().contains(row)) continue;
            const auto at = view->viewport()->mapTo(&browser, QPoint(view->viewport()->width() / 2, row.top() + 1));
            QCOMPARE(picture.pixelColor(at), Theme::instance().tokens().selection);
        }
        keepPicture(browser, QStringLiteral("browser-several"));
        QTest::mouseClick(browser.findChild<QToolButton*>(QStringLiteral("asTable")), Qt::LeftButton);
        QTRY_COMPARE(view->selectionModel()->selectedRows().size(), 3);
    }
};

QS_TEST(TestTensorSelection)
#include "tensor_selection_test.moc"
