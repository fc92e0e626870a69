// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/sketch.h"

#include "app/gui/theme.h"
#include "app/gui/widgets/shared_painting.h"

#include <QAbstractItemModel>
#include <QLinearGradient>
#include <QPainter>
#include <QPainterPath>

#include <algorithm>
#include <cmath>
#include <functional>

namespace qs::gui {
namespace {

constexpr int kAxisTitle = 18, kRow = 26, kWordLine = 22; // heights in pixels
constexpr double kSquare = 48;                            // of the squared paper that charts are drawn on
constexpr int kLeastHeight = 48;                          // a lower sketch would be noise
constexpr int kMostTitles = 7;                            // of a table: more have no room

/// A number in 0..1 that looks like chance and is the same at every painting.
double noise(int i, int j = 0) {
    const double x = std::sin(i * 12.9898 + j * 78.233) * 43758.5453;
    return x - std::floor(x);
}

QColor mixed(const QColor& from, const QColor& to, double share) {
    const auto part = [share](int a, int b) { return int(std::lround(a + (b - a) * share)); };
    return {part(from.red(), to.red()), part(from.green(), to.green()), part(from.blue(), to.blue())};
}

struct Pencil {
    QPainter& painter;
    const Tokens& tokens;
    QRectF area;
    const QStringList& words;

    QColor grey(double share) const { return mixed(tokens.surface, tokens.faint, share); }
    QPointF at(double x, double y) const { // of 0..1 each, y upwards
        return {area.left() + x * area.width(), area.bottom() - y * area.height()};
    }

    /// Titles of the axes, and squared paper between them.
    void paper() {
        painter.setFont(Theme::numbers(10));
        painter.setPen(tokens.muted);
        const auto say = [this](const QRectF& box, int align, const QString& text) {
            painter.drawText(box, align, painter.fontMetrics().elidedText(text, Qt::ElideRight, int(box.width())));
        };
        if (words.size() > 1) say({area.left(), area.top(), area.width(), kAxisTitle}, Qt::AlignLeft, words[1]);
        if (!words.isEmpty())
            say({area.left(), area.bottom() - kAxisTitle, area.width(), kAxisTitle},
                int(Qt::AlignRight) | int(Qt::AlignBottom), words[0]);
        if (words.size() > 1) area.setTop(area.top() + kAxisTitle);
        if (!words.isEmpty()) area.setBottom(area.bottom() - kAxisTitle);
        painter.setPen(QPen(grey(0.16), 1));
        for (double x = area.left(); x <= area.right(); x += kSquare)
            painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()));
        for (double y = area.bottom(); y >= area.top(); y -= kSquare)
            painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y));
    }

    void curve(const std::function<double(double)>& y, double strength, bool filled = false) {
        QPainterPath path;
        constexpr int kSteps = 96;
        for (int i = 0; i <= kSteps; ++i) {
            const QPointF point = at(double(i) / kSteps, y(double(i) / kSteps));
            i == 0 ? path.moveTo(point) : path.lineTo(point);
        }
        if (filled) {
            QPainterPath below = path;
            below.lineTo(area.bottomRight());
            below.lineTo(area.bottomLeft());
            QLinearGradient fade(area.topLeft(), area.bottomLeft());
            fade.setColorAt(0, grey(0.42));
            fade.setColorAt(1, grey(0.04));
            painter.fillPath(below, fade);
        }
        painter.setPen(QPen(grey(strength), 1.5, Qt::DashLine));
        painter.setBrush(Qt::NoBrush);
        painter.drawPath(path);
    }

    void curves() {
        paper();
        curve([](double x) { return 0.12 + 0.78 * std::exp(-3.2 * x); }, 0.8, true);
        curve([](double x) { return 0.2 + 0.5 * std::exp(-2.2 * x); }, 0.6);
        curve([](double x) { return 0.06 + 0.3 * std::exp(-1.6 * x); }, 0.45);
    }

    void columns(double peak, double spread) {
        const int count = std::clamp(int(area.width() / 20), 8, 96);
        const double step = area.width() / count;
        for (int i = 0; i < count; ++i) {
            const double x = (i + 0.5) / count, far = (x - peak) / spread;
            const double high = (0.9 * std::exp(-far * far) + 0.02) * (0.9 + 0.1 * noise(i));
            const QRectF bar(at(double(i) / count, high), QSizeF(step - 3, high * area.height()));
            QLinearGradient fade(bar.topLeft(), bar.bottomLeft());
            fade.setColorAt(0, grey(0.5));
            fade.setColorAt(1, grey(0.2));
            painter.fillRect(bar, fade);
        }
    }

    void histogram() {
        paper();
        columns(0.42, 0.2);
    }

    void levels() {
        paper();
        curve([](double x) { return 0.9 * std::exp(-std::pow((x - 0.5) / 0.2, 2)); }, 0.8, true);
        painter.setPen(QPen(grey(0.7), 1));
        for (int i = -7; i <= 7; ++i) {
            const double x = 0.5 + 0.05 * i + 0.0012 * i * std::abs(i);
            painter.drawLine(at(x, 0), at(x, 1));
        }
    }

    void dot(double x, double y, double radius, double strength) {
        painter.setPen(Qt::NoPen);
        painter.setBrush(grey(strength));
        painter.drawEllipse(at(x, y), radius, radius);
    }

    void roof() {
        paper();
        const auto line = [](double x) { return std::min(0.12 + 1.25 * x, 0.86); };
        curve(line, 0.8, true);
        for (int i = 0; i < 28; ++i) {
            const double x = 0.04 + 0.92 * noise(i, 1);
            dot(x, line(x) * (0.35 + 0.55 * noise(i, 2)), 3.5, 0.75);
        }
    }

    void frontier() {
        paper();
        const auto best = [](double x) { return 0.1 + 0.8 * std::sqrt(x); };
        for (int i = 0; i < 60; ++i) {
            const double x = 0.03 + 0.94 * noise(i, 1);
            dot(x, best(x) * (0.45 + 0.5 * noise(i, 2)), 3, 0.45);
        }
        curve(best, 0.8);
    }

    void map() {
        paper();
        const int columns = std::clamp(int(area.width() / 30), 4, 64),
                  rows = std::clamp(int(area.height() / 26), 2, 32);
        const QSizeF cell(area.width() / columns, area.height() / rows);
        for (int r = 0; r < rows; ++r)
            for (int c = 0; c < columns; ++c) {
                const double slope = 0.5 + 0.5 * std::sin(0.35 * c + 0.8 * r);
                painter.fillRect(
                    QRectF(area.topLeft() + QPointF(c * cell.width(), r * cell.height()), cell - QSizeF(2, 2)),
                    grey(0.08 + 0.3 * slope * (0.5 + 0.5 * noise(c, r))));
            }
    }

    void stroke(double x, double y, double width, double strength, double height = 6) {
        painter.setPen(Qt::NoPen);
        painter.setBrush(grey(strength));
        painter.drawRoundedRect(QRectF(x, y - height / 2, width, height), height / 2, height / 2);
    }

    void bars() {
        paper();
        const int rows = std::max(1, int(area.height() / kRow));
        const double names = std::min(140.0, area.width() / 3), room = area.width() - names - 8;
        for (int i = 0; i < rows; ++i) {
            const double y = area.top() + (i + 0.5) * kRow;
            stroke(area.left(), y, names * (0.5 + 0.4 * noise(i)), 0.3);
            stroke(area.left() + names + 8, y, room * std::exp(-1.6 * i / rows), 0.42, 12);
        }
    }

    void table() {
        const qsizetype count = words.isEmpty() ? 4 : words.size();
        const double step = area.width() / double(count);
        painter.setFont(Theme::words(11));
        painter.setPen(tokens.muted);
        for (qsizetype c = 0; c < words.size(); ++c)
            painter.drawText(QRectF(area.left() + double(c) * step, area.top(), step - 8, kRow),
                             int(Qt::AlignLeft) | int(Qt::AlignVCenter),
                             painter.fontMetrics().elidedText(words[c], Qt::ElideRight, int(step - 8)));
        for (int r = 1; area.top() + (r + 1) * kRow <= area.bottom() + 1; ++r) {
            const double y = area.top() + r * kRow;
            painter.setPen(QPen(grey(0.16), 1));
            painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y));
            for (qsizetype c = 0; c < count; ++c)
                stroke(area.left() + double(c) * step, y + kRow / 2.0,
                       std::min(step - 24, c == 0 ? 180.0 : 90.0) * (0.5 + 0.45 * noise(r, int(c))), 0.3);
        }
    }

    void text() {
        for (int line = 0; area.top() + (line + 1) * kWordLine <= area.bottom(); ++line) {
            const double y = area.top() + (line + 0.5) * kWordLine;
            double x = area.left();
            for (int word = 0; x < area.right() - 40; ++word) {
                const double width = std::min(18 + 60 * noise(line, word), area.right() - x);
                stroke(x, y, width, noise(word, line) > 0.93 ? 0.8 : 0.26, 8);
                x += width + 8;
            }
        }
    }
};

} // namespace

Sketch::Sketch(Kind kind, QStringList words, QWidget* parent) : QWidget(parent), kind_(kind), words_(std::move(words)) {
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Ignored); // it takes what is left of the height
    setAccessibleName(tr("Sketch of what will be shown; nothing is measured"));
    setToolTip(accessibleName());
    SharedPainting::of(*this, SharedPainting::Fit::Stretched);
    connect(&Theme::instance(), &Theme::changed, this, qOverload<>(&QWidget::update));
}

Sketch* Sketch::ofTable(const QAbstractItemModel& columns) {
    QStringList titles;
    for (int i = 0; i < std::min(kMostTitles, columns.columnCount()); ++i)
        titles << columns.headerData(i, Qt::Horizontal).toString();
    return new Sketch(Kind::Table, titles);
}

void Sketch::paintEvent(QPaintEvent*) {
    if (height() < kLeastHeight) return;
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    Pencil pencil{painter, Theme::instance().tokens(), QRectF(rect()), words_};
    switch (kind_) {
    case Kind::Curves: return pencil.curves();
    case Kind::Histogram: return pencil.histogram();
    case Kind::Roof: return pencil.roof();
    case Kind::Frontier: return pencil.frontier();
    case Kind::Levels: return pencil.levels();
    case Kind::Map: return pencil.map();
    case Kind::Bars: return pencil.bars();
    case Kind::Table: return pencil.table();
    case Kind::Text: return pencil.text();
    }
}

} // namespace qs::gui
