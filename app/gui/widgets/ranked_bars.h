// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Named values, one bar each, in the order given; only the visible ones are painted. Values that lie close together far
// from zero are drawn as dots over their own range, because bars must start at zero.

#include <QAbstractScrollArea>
#include <QString>

#include <functional>
#include <vector>

class QMenu;

namespace qs::gui {

struct RankedBar {
    QString name;
    double value = 0; ///< NaN: not measured, hatched with `reason`
    QString text;     ///< the value as printed at the end of the row
    QString reason;
};

/// Of many bars, found where they are made: a widget that walks 100,000 of them holds the window up.
struct BarExtents {
    double least = 0, most = 0;
    bool any = false;             ///< a finite value
    qsizetype name = 0, text = 0; ///< characters of the longest one
    void add(double value, qsizetype nameLength);
};

class RankedBars : public QAbstractScrollArea {
    Q_OBJECT
public:
    explicit RankedBars(QWidget* parent = nullptr);
    // Both keep the scroll position.
    void setBars(std::vector<RankedBar> bars);
    void setBars(int count, const BarExtents& extents, std::function<RankedBar(int)> bar); ///< asked for what is seen
    int count() const { return count_; }
    RankedBar bar(int index) const { return bar_(index); }
    void setAxis(const QString& title); ///< what the length means, with unit
    void setAxisVisible(bool on);       ///< off: the figures at the ends of the rows say it all
    void setNamesTensors();             ///< names are cut as those of tensors
    void setToken(int token);           ///< 0..3: dataA..dataD
    void setFromZero(bool on);          ///< on: bars begin at 0 however close the values lie; before setBars()
    void setCurrent(int index);         ///< -1: none; does not scroll
    void setLinked(int index);          ///< highlighted as under the mouse; scrolls to it; -1: none
    int current() const { return current_; }
    double axisBegin() const { return lo_; }                ///< where bars and dots are measured from
    void setDescribe(std::function<QString(int)> describe); ///< tooltip
    /// Puts actions of a bar in front of the context menu.
    void setBarActions(std::function<void(QMenu&, int index)> add) { barActions_ = std::move(add); }
    QRect barRect(int index) const; ///< the whole row, in viewport pixels
    QString dataAsTsv() const;
    QSize sizeHint() const override { return {320, 240}; }
    QSize minimumSizeHint() const override { return {180, 80}; }

Q_SIGNALS:
    void barClicked(int index);
    void barHovered(int index); ///< -1 when the mouse leaves

protected:
    bool viewportEvent(QEvent*) override;
    void paintEvent(QPaintEvent*) override;
    void resizeEvent(QResizeEvent*) override;
    void keyPressEvent(QKeyEvent*) override;
    void contextMenuEvent(QContextMenuEvent*) override;

private:
    int indexAt(QPoint position) const;
    void hover(int index, QPoint global);
    void updateScroll();
    int firstVisible() const;
    int axisHeight() const;
    int rowHeight() const; ///< few bars share the room there is

    int count_ = 0;
    std::function<RankedBar(int)> bar_;
    QString axis_;
    double lo_ = 0, hi_ = 0; ///< of the axis
    bool dots_ = false, axisVisible_ = true, fromZero_ = false, namesTensors_ = false;
    double textWidth_ = 0, nameWidth_ = 0;
    int token_ = 2, current_ = -1, hover_ = -1;
    std::function<QString(int)> describe_;
    std::function<void(QMenu&, int)> barActions_;
};

} // namespace qs::gui
