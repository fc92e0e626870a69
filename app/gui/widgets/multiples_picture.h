// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The picture of SmallMultiples: its panels, where they stand in a viewport, and how they are painted.

#include <QCoreApplication>
#include <QRectF>
#include <QString>
#include <QStringList>

#include <vector>

class QPainter;

namespace qs::gui {

struct MultipleDot {
    double x = 0, y = 0;
    int series = 0;
    int id = 0; ///< marks of the same thing have the same id in all panels
    bool best = false;
};
struct Multiple {
    QString title, note;
    std::vector<MultipleDot> dots; ///< sorted by series, then x
    QString empty;                 ///< shown when there are no dots
};

/// Which marks stand out; -1: none.
struct MultiplesMarks {
    int currentPanel = 0, currentId = -1;
    int hoverPanel = -1, hoverId = -1, hoverSeries = -1;
    bool focus = false; ///< the keyboard moves the current mark
    bool operator==(const MultiplesMarks&) const = default;
};

class MultiplesPicture {
    Q_DECLARE_TR_FUNCTIONS(SmallMultiples)
public:
    void setAxes(const QString& x, const QString& y) { xTitle_ = x, yTitle_ = y; }
    /// Panels compare two orders: no line joins the marks, a dashed one shows where both are equal.
    void setComparesOrders(bool on) { comparesOrders_ = on; }
    void setData(QStringList series, std::vector<Multiple> panels);
    const std::vector<Multiple>& panels() const { return panels_; }
    /// Chooses the number of columns: panels are wider than high and, if possible, all visible. The height of it all.
    double arrange(QSizeF viewport);
    void scrollTo(int y) { scrolled_ = y; } ///< pixels above the viewport

    QRectF panelRect(int panel) const; ///< in pixels of the viewport, as all below
    QPointF dotPosition(int panel, int id) const;
    int legendAt(QPointF position) const; ///< a series; -1: none
    /// The mark near a position of a panel, or what the legend has there.
    MultiplesMarks under(QPointF position) const;
    void paint(QPainter& painter, const QRectF& seen, const MultiplesMarks& marks) const;
    QString asTsv() const;

private:
    struct Range {
        double lo = 0, hi = 1;
    };
    void paintPanel(QPainter& painter, int panel, const MultiplesMarks& marks) const;
    void paintLegend(QPainter& painter, int hoverSeries) const;
    QRectF plotRect(int panel) const;
    QPointF at(const QRectF& plot, double x, double y) const;

    QStringList series_;
    std::vector<Multiple> panels_;
    QString xTitle_, yTitle_;
    Range x_, y_;
    std::vector<QRectF> legend_; ///< per series
    double legendHeight_ = 0, panelWidth_ = 0, panelHeight_ = 0;
    bool comparesOrders_ = false;
    int columns_ = 1, scrolled_ = 0;
};

} // namespace qs::gui
