// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/small_multiples.h"

#include "app/gui/theme.h"
#include "app/gui/widgets/shared_painting.h"

#include <QApplication>
#include <QBuffer>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QMenu>
#include <QPainter>
#include <QScrollBar>
#include <QSvgGenerator>
#include <QToolTip>

#include <algorithm>

namespace qs::gui {

SmallMultiples::SmallMultiples(QWidget* parent) : QAbstractScrollArea(parent) {
    setFrameShape(QFrame::NoFrame);
    setFocusPolicy(Qt::StrongFocus);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    SharedPainting::of(*viewport(), SharedPainting::Fit::Stretched);
    viewport()->setMouseTracking(true);
    viewport()->setAutoFillBackground(false);
    connect(verticalScrollBar(), &QScrollBar::valueChanged, this, [this](int value) { picture_.scrollTo(value); });
    connect(&Theme::instance(), &Theme::changed, this, [this] { viewport()->update(); });
}

void SmallMultiples::setDescribe(std::function<QString(int, int)> describe) { describe_ = std::move(describe); }

void SmallMultiples::setData(QStringList series, std::vector<Multiple> panels) {
    picture_.setData(std::move(series), std::move(panels));
    if (marks_.currentPanel >= int(this->panels().size())) marks_.currentPanel = 0;
    arrange();
    viewport()->update();
}

void SmallMultiples::setCurrent(int panel, int id) {
    marks_.currentPanel = panel, marks_.currentId = id;
    const bool known = panel >= 0 && panel < int(panels().size()) && id >= 0 && describe_;
    setAccessibleDescription(known ? panels()[std::size_t(panel)].title + u' ' + describe_(panel, id) : QString());
    viewport()->update();
}

void SmallMultiples::arrange() {
    const QSize size = viewport()->size();
    const double whole = picture_.arrange(size);
    verticalScrollBar()->setRange(0, std::max(0, int(whole - size.height())));
    verticalScrollBar()->setPageStep(size.height());
    verticalScrollBar()->setSingleStep(24);
}

void SmallMultiples::resizeEvent(QResizeEvent*) { arrange(); }

void SmallMultiples::hover(QPoint position, QPoint global) {
    MultiplesMarks under = picture_.under(position);
    under.currentPanel = marks_.currentPanel, under.currentId = marks_.currentId;
    viewport()->setCursor(under.hoverId >= 0 ? Qt::PointingHandCursor : Qt::ArrowCursor);
    if (under == marks_) return;
    marks_ = under;
    if (under.hoverId >= 0 && describe_)
        QToolTip::showText(global + QPoint(12, 12), describe_(under.hoverPanel, under.hoverId), this);
    else
        QToolTip::hideText();
    viewport()->update();
}

bool SmallMultiples::viewportEvent(QEvent* event) {
    switch (event->type()) {
    case QEvent::ToolTip: return true; // hover() shows tooltips without a delay
    case QEvent::MouseMove: {
        auto* mouse = static_cast<QMouseEvent*>(event);
        hover(mouse->position().toPoint(), mouse->globalPosition().toPoint());
        return true;
    }
    case QEvent::Leave: hover({-1000, -1000}, {}); break;
    case QEvent::MouseButtonPress: {
        auto* mouse = static_cast<QMouseEvent*>(event);
        if (mouse->button() != Qt::LeftButton) break;
        setFocus(Qt::MouseFocusReason);
        hover(mouse->position().toPoint(), mouse->globalPosition().toPoint());
        if (marks_.hoverId >= 0) {
            setCurrent(marks_.hoverPanel, marks_.hoverId);
            Q_EMIT panelClicked(marks_.hoverPanel);
            Q_EMIT dotClicked(marks_.hoverPanel, marks_.hoverId);
            return true;
        }
        for (int p = 0; p < int(panels().size()); ++p) {
            if (!panelRect(p).contains(mouse->position())) continue;
            setCurrent(p, marks_.currentId);
            Q_EMIT panelClicked(p);
        }
        return true;
    }
    default: break;
    }
    return QAbstractScrollArea::viewportEvent(event);
}

/// Left and right: marks by x. Up and down: panels. Enter: as a click.
void SmallMultiples::keyPressEvent(QKeyEvent* event) {
    if (panels().empty()) return QAbstractScrollArea::keyPressEvent(event);
    const int key = event->key();
    if ((key == Qt::Key_Return || key == Qt::Key_Enter) && marks_.currentId >= 0)
        return Q_EMIT dotClicked(marks_.currentPanel, marks_.currentId);
    if (key == Qt::Key_Up || key == Qt::Key_Down) {
        const int panel = std::clamp(marks_.currentPanel + (key == Qt::Key_Up ? -1 : 1), 0, int(panels().size()) - 1);
        setCurrent(panel, marks_.currentId);
        const QRectF rect = panelRect(panel);
        auto* bar = verticalScrollBar();
        if (rect.top() < 0) bar->setValue(int(bar->value() + rect.top()));
        if (rect.bottom() > viewport()->height())
            bar->setValue(int(bar->value() + rect.bottom() - viewport()->height()));
        return Q_EMIT panelClicked(panel);
    }
    if (key != Qt::Key_Left && key != Qt::Key_Right) return QAbstractScrollArea::keyPressEvent(event);
    std::vector<const MultipleDot*> dots;
    for (const auto& dot : panels()[std::size_t(marks_.currentPanel)].dots) dots.push_back(&dot);
    if (dots.empty()) return;
    std::ranges::stable_sort(dots, [](const auto* a, const auto* b) { return a->x < b->x; });
    const auto found = std::ranges::find_if(dots, [&](const auto* dot) { return dot->id == marks_.currentId; });
    std::ptrdiff_t to = found == dots.end() ? 0 : found - dots.begin() + (key == Qt::Key_Left ? -1 : 1);
    to = std::clamp<std::ptrdiff_t>(to, 0, std::ptrdiff_t(dots.size()) - 1);
    setCurrent(marks_.currentPanel, dots[std::size_t(to)]->id);
}

void SmallMultiples::contextMenuEvent(QContextMenuEvent* event) {
    QMenu menu(this);
    menu.addAction(tr("Copy picture (PNG)"), this, [this] { QApplication::clipboard()->setImage(grab().toImage()); });
    menu.addAction(tr("Copy picture (SVG)"), this,
                   [this] { QApplication::clipboard()->setText(QString::fromUtf8(asSvg())); });
    menu.addAction(tr("Copy data (TSV)"), this, [this] { QApplication::clipboard()->setText(dataAsTsv()); });
    menu.exec(event->globalPos());
}

QByteArray SmallMultiples::asSvg() const {
    QByteArray bytes;
    QBuffer buffer(&bytes);
    QSvgGenerator svg;
    svg.setOutputDevice(&buffer);
    svg.setSize(viewport()->size());
    svg.setViewBox(viewport()->rect());
    QPainter painter(&svg);
    paint(painter);
    painter.end();
    return bytes;
}

void SmallMultiples::paint(QPainter& painter) const {
    MultiplesMarks marks = marks_;
    marks.focus = hasFocus();
    picture_.paint(painter, viewport()->rect(), marks);
}

void SmallMultiples::paintEvent(QPaintEvent*) {
    QPainter painter(viewport());
    paint(painter);
}

} // namespace qs::gui
