// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A drawing of what a card will show, before anything is measured: the kind of the chart and the meaning of its axes,
// or the columns of a table. It is grey and has no numbers, so that nobody takes it for a result.

#include <QStringList>
#include <QWidget>

class QAbstractItemModel;

namespace qs::gui {

class Sketch : public QWidget {
    Q_OBJECT
public:
    enum class Kind {
        Curves,    ///< lines over an axis
        Histogram, ///< columns beside each other
        Roof,      ///< points below a rising and then level line
        Frontier,  ///< points, the best of them joined
        Levels,    ///< a density with vertical lines
        Map,       ///< cells in rows and columns
        Bars,      ///< a name and a horizontal bar in each row
        Table,     ///< rows under the titles of columns
        Text       ///< lines of words, a few of them marked
    };
    /// `words`: of Table the titles of its columns; of the others the titles of the axes, x then y; may be empty.
    explicit Sketch(Kind kind, QStringList words = {}, QWidget* parent = nullptr);
    /// A table with the titles of the model's first columns.
    static Sketch* ofTable(const QAbstractItemModel& columns);
    QSize sizeHint() const override { return {240, 120}; }
    QSize minimumSizeHint() const override { return {0, 0}; }

protected:
    void paintEvent(QPaintEvent*) override;

private:
    Kind kind_;
    QStringList words_;
};

} // namespace qs::gui
