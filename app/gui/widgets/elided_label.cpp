// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/elided_label.h"

#include <QPainter>
#include <QStyle>

namespace qs::gui {

ElidedLabel::ElidedLabel(Qt::TextElideMode mode, QWidget* parent) : QLabel(parent), mode_(mode) {
    setTextFormat(Qt::PlainText);
}

QSize ElidedLabel::minimumSizeHint() const { return {0, QLabel::minimumSizeHint().height()}; }

QString ElidedLabel::shownText() const {
    constexpr int kLeastLetters = 5;
    const int room = contentsRect().width();
    const auto fits = [&](const QString& part) { return fontMetrics().horizontalAdvance(part) <= room; };
    if (mode_ == Qt::ElideRight && !fits(text()))
        for (qsizetype end = text().lastIndexOf(u"  "); end > 0; end = text().lastIndexOf(u"  ", end - 1))
            if (const QString parts = text().left(end).trimmed(); fits(parts)) return parts;
    const QString cut = fontMetrics().elidedText(text(), mode_, room);
    return cut == text() || cut.size() > kLeastLetters ? cut : QString();
}

void ElidedLabel::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    const QString shown = shownText();
    if (const QString tip = shown == text() ? QString() : text(); tip != toolTip()) setToolTip(tip);
    style()->drawItemText(&painter, contentsRect(), int(alignment()), palette(), isEnabled(), shown, foregroundRole());
}

} // namespace qs::gui
