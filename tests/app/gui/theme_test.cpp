// SPDX-License-Identifier: GPL-3.0-or-later
// The look of controls: sizes, and colours in each state. A change of theme must leave no colour of the former theme.
#include "app/gui/theme.h"
#include "app/gui/widgets/data_table.h"
#include "app/gui/widgets/tick_list.h"
#include "tests/app/gui/artefacts.h"
#include "tests/support/test_program.h"

#include <QApplication>
#include <QCheckBox>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QGridLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QMenu>
#include <QMouseEvent>
#include <QPainter>
#include <QPlainTextEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QScrollBar>
#include <QSlider>
#include <QStandardItemModel>
#include <QStyle>
#include <QTableView>
#include <QTest>
#include <QToolButton>
#include <QToolTip>
#include <QTreeView>

using namespace qs::gui;

namespace {

template<class W> W* with(W* widget, const char* role) {
    widget->setProperty("role", QString::fromLatin1(role));
    return widget;
}

QToolButton* tool(const QString& text, const char* role, bool checked) {
    auto* button = with(new QToolButton, role);
    button->setText(text);
    button->setCheckable(true);
    button->setChecked(checked);
    return button;
}

QStandardItemModel* rows(QObject* parent) {
    auto* model = new QStandardItemModel(parent);
    for (int row = 0; row < 20; ++row) {
        auto* first = new QStandardItem(QStringLiteral("layer %1").arg(row));
        first->appendRow(new QStandardItem(QStringLiteral("q_proj")));
        model->appendRow({first, new QStandardItem(QStringLiteral("%1 dB").arg(18.5 + row))});
    }
    model->setHorizontalHeaderLabels({QStringLiteral("Tensor"), QStringLiteral("SQNR dB")});
    return model;
}

/// One of each control in each state that does not need a mouse.
class Gallery : public QWidget {
public:
    Gallery() {
        setFixedSize(760, 520);
        setFocusPolicy(Qt::StrongFocus); // so that no control has the focus first
        setFocus();
        grid_ = new QGridLayout(this);
        int column = 0;
        for (const char* role : {"", "muted", "caption", "warn", "accent", "data-b"})
            put(with(new QLabel(QStringLiteral("a label")), role), 0, column++);
        column = 0;
        for (const char* role : {"", "primary", "quiet"}) {
            put(with(new QPushButton(QStringLiteral("Button")), role), 1, column++);
            auto* off = with(new QPushButton(QStringLiteral("Off")), role);
            off->setEnabled(false);
            put(off, 1, column++);
        }
        column = 0;
        for (const char* role : {"", "quiet", "corner"})
            for (const bool checked : {false, true}) put(tool(QStringLiteral("log y"), role, checked), 2, column++);
        put(edit = new QLineEdit(QStringLiteral("nf4:block=64")), 3, 0);
        put(invalid = new QLineEdit(QStringLiteral("(")), 3, 1);
        invalid->setProperty("invalid", true);
        auto* hint = new QLineEdit;
        hint->setPlaceholderText(QStringLiteral("Filter"));
        put(hint, 3, 2);
        put(combo = new QComboBox, 3, 3);
        combo->addItems({QStringLiteral("absmax"), QStringLiteral("mse"), QStringLiteral("percentile")});
        auto* corner = with(new QComboBox, "corner");
        corner->addItem(QStringLiteral("Times"));
        put(corner, 3, 4);
        put(spin = new QDoubleSpinBox, 3, 5);
        put(box = new QCheckBox(QStringLiteral("with a bias")), 4, 0);
        auto* ticked = new QCheckBox(QStringLiteral("checked"));
        ticked->setChecked(true);
        put(ticked, 4, 1);
        put(slider = new QSlider(Qt::Horizontal), 4, 2);
        slider->setValue(40);
        auto* off = new QSlider(Qt::Horizontal);
        off->setEnabled(false);
        put(off, 4, 3);
        auto* bar = new QProgressBar;
        bar->setTextVisible(false);
        bar->setFixedHeight(4);
        bar->setValue(60);
        put(bar, 4, 4);
        put(with(new QPlainTextEdit(QStringLiteral("all keys")), "muted"), 4, 5);
        tree = new QTreeView;
        tree->setModel(rows(tree));
        tree->expand(tree->model()->index(0, 0));
        tree->setCurrentIndex(tree->model()->index(1, 0));
        tree->setSortingEnabled(true);
        grid_->addWidget(tree, 5, 0, 1, 2);
        auto* table = new QTableView;
        asDataTable(*table, QStringLiteral("table"));
        table->setModel(rows(table));
        table->setProperty("roomy", true);
        table->selectRow(1);
        grid_->addWidget(table, 5, 2, 1, 2);
        auto* list = new TickList("list", QStringLiteral("list"));
        for (int i = 0; i < 20; ++i) list->add(QStringLiteral("int%1").arg(i), i % 2);
        grid_->addWidget(list, 5, 4, 1, 2);
    }

    QLineEdit *edit, *invalid;
    QComboBox* combo;
    QDoubleSpinBox* spin;
    QCheckBox* box;
    QSlider* slider;
    QTreeView* tree;

protected:
    void paintEvent(QPaintEvent*) override { QPainter(this).fillRect(rect(), Theme::instance().tokens().surface); }

private:
    void put(QWidget* widget, int row, int column) { grid_->addWidget(widget, row, column); }
    QGridLayout* grid_;
};

bool shows(const QImage& image, const QColor& colour) {
    for (int y = 0; y < image.height(); ++y)
        for (int x = 0; x < image.width(); ++x)
            if (image.pixelColor(x, y) == colour) return true;
    return false;
}

QImage picture(QWidget& widget) {
    QCoreApplication::sendPostedEvents();
    return widget.grab().toImage();
}

} // namespace

class TestTheme : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { Theme::install(Theme::Mode::Dark); }

    void measures() {
        Gallery gallery;
        gallery.show();
        for (const auto* button : gallery.findChildren<QPushButton*>()) QCOMPARE(button->height(), Theme::kControl);
        for (const auto* button : gallery.findChildren<QToolButton*>())
            if (button->property("role").isValid())
                QCOMPARE(button->height(), button->property("role") == QLatin1String("corner") ? 20 : Theme::kControl);
        for (const auto* edit : {gallery.edit, gallery.invalid}) QCOMPARE(edit->height(), Theme::kControl);
        QCOMPARE(gallery.combo->height(), Theme::kControl);
        QCOMPARE(gallery.spin->height(), Theme::kControl);
        QCOMPARE(gallery.tree->verticalScrollBar()->width(), 10);
        QCOMPARE(gallery.tree->header()->height(), 25);
        QVERIFY(gallery.combo->width() > gallery.combo->fontMetrics().horizontalAdvance(QStringLiteral("percentile")));
    }

    void aChangeLeavesNothingBehind() {
        Gallery old;
        old.show();
        const auto dark = picture(old);
        for (const auto mode : {Theme::Mode::Light, Theme::Mode::Dark}) {
            Theme::instance().setMode(mode);
            Gallery fresh;
            fresh.show();
            const auto changed = picture(old), made = picture(fresh);
            keepPicture(old, QStringLiteral("theme-%1")
                                 .arg(mode == Theme::Mode::Light ? QLatin1String("light") : QLatin1String("dark")));
            QCOMPARE(changed, made);
            QCOMPARE(changed == dark, mode == Theme::Mode::Dark);
        }
    }

    void rolesOfLabels() {
        const auto& tokens = Theme::instance().tokens();
        QLabel label(QStringLiteral("████"));
        const std::pair<const char*, QColor> roles[] = {{"muted", tokens.muted},  {"caption", tokens.muted},
                                                        {"warn", tokens.warn},    {"accent", tokens.accent},
                                                        {"data-b", tokens.dataB}, {"", tokens.text}};
        for (const auto& [role, colour] : roles) { // changes from role to role, as pages do
            with(&label, role);
            label.style()->unpolish(&label);
            label.style()->polish(&label);
            QVERIFY2(shows(picture(label), colour), role);
        }
    }

    /// Names come from files, so labels and tooltips must show HTML in them as plain text.
    void namesAreNotRendered() {
        const auto name = QStringLiteral("<b>w</b><img src='http://example.org/x.png'>");
        QLabel label(name);
        label.show();
        QCOMPARE(label.textFormat(), Qt::PlainText);
        QToolTip::showText(QPoint(10, 10), name, &label);
        const QLabel* tip = nullptr;
        for (const auto* widget : QApplication::topLevelWidgets())
            if (widget->inherits("QTipLabel")) tip = qobject_cast<const QLabel*>(widget);
        QVERIFY(tip);
        QCOMPARE(tip->text(), name);
        QCOMPARE(tip->textFormat(), Qt::PlainText);
        QToolTip::hideText();
        QLabel rich(QStringLiteral("<b>ours</b>"));
        rich.setTextFormat(Qt::RichText);
        rich.show();
        QCOMPARE(rich.textFormat(), Qt::RichText);
    }

    void statesAreSeen() {
        Gallery gallery;
        gallery.show();
        gallery.activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(&gallery, qs::test::kWait));
        const auto& tokens = Theme::instance().tokens();
        const std::initializer_list<QWidget*> focusable = {gallery.edit, gallery.combo, gallery.spin};
        for (auto* control : focusable) {
            gallery.setFocus();
            QVERIFY(!shows(picture(*control), tokens.accent));
            control->setFocus(Qt::TabFocusReason);
            QVERIFY(shows(picture(*control), tokens.accent));
        }
        QVERIFY(shows(picture(*gallery.invalid), tokens.warn));
        gallery.invalid->setProperty("invalid", false);
        QVERIFY(!shows(picture(*gallery.invalid), tokens.warn));
        QVERIFY(!shows(picture(*gallery.box), tokens.accent));
        gallery.box->setChecked(true);
        QVERIFY(shows(picture(*gallery.box), tokens.accent));
        gallery.slider->setEnabled(false);
        QVERIFY(!shows(picture(*gallery.slider), tokens.accent));
    }

    void popups() {
        Gallery gallery;
        gallery.show();
        gallery.combo->showPopup();
        QVERIFY(QTest::qWaitForWindowExposed(gallery.combo->view()->window(), qs::test::kWait));
        auto* list = gallery.combo->view();
        QCOMPARE(list->visualRect(list->model()->index(1, 0)).height(), 26);
        const auto shown = picture(*list->window());
        keepPicture(*list->window(), QStringLiteral("theme-list"));
        QVERIFY(shows(shown, Theme::instance().tokens().raised));
        QVERIFY(shows(shown, Theme::instance().tokens().line));
        gallery.combo->hidePopup();

        QMenu menu;
        menu.addAction(QStringLiteral("&Open file…"))->setShortcut(Qt::CTRL | Qt::Key_O);
        menu.addMenu(QStringLiteral("&Recent"))->addAction(QStringLiteral("one"));
        menu.addSeparator();
        auto* dark = menu.addAction(QStringLiteral("&Dark theme"));
        dark->setCheckable(true);
        dark->setChecked(true);
        menu.addAction(QStringLiteral("Off"))->setEnabled(false);
        menu.setActiveAction(menu.actions().front());
        const auto drawn = picture(menu);
        keepPicture(menu, QStringLiteral("theme-menu"));
        QVERIFY(shows(drawn, Theme::instance().tokens().surface));
        QVERIFY(shows(drawn, Theme::instance().tokens().selection));
    }

    void aScrollBarIsDragged() {
        Gallery gallery;
        gallery.show();
        auto* bar = gallery.tree->verticalScrollBar();
        QVERIFY(bar->maximum() > 0);
        bar->setValue(0);
        const QPoint top(bar->width() / 2, 8);
        QTest::mousePress(bar, Qt::LeftButton, {}, top);
        const QPointF down(top.x(), top.y() + bar->height()), there = bar->mapToGlobal(down);
        QMouseEvent moved(QEvent::MouseMove, down, there, Qt::LeftButton, Qt::LeftButton, Qt::NoModifier);
        QCoreApplication::sendEvent(bar, &moved); // with the button pressed; QTest::mouseMove does not send that
        QTest::mouseRelease(bar, Qt::LeftButton, {}, down.toPoint());
        QCOMPARE(bar->value(), bar->maximum());
    }
};

QS_TEST(TestTheme)
#include "theme_test.moc"
