// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Named values with a bar each, in the given order; only visible bars are painted. Values that differ little and are
// far from zero are drawn as dots over their own range, because bars must start at zero.

#include <QAbstractScrollArea>
#include <QString>

#include <functional>
#include <vector>

class QMenu;

namespace qs::gui {

struct RankedBar {
    QString name;
    double value = 0; ///< NaN: not measured, hatched with `reason`
    QString text;     ///< the printed value at the end of the row
    QString reason;
};

/// Facts on many bars, computed by the caller: computing them here for 100,000 bars would block the window.
struct BarExtents {
    double least = 0, most = 0;
    bool any = false;             ///< there is a finite value
    qsizetype name = 0, text = 0; ///< characters of the longest name and text
    void add(double value, qsizetype nameLength);
};

class RankedBars : public QAbstractScrollArea {
    Q_OBJECT
public:
    explicit RankedBars(QWidget* parent = nullptr);
    // Both keep the scroll position.
    void setBars(std::vector<RankedBar> bars);
    /// `bar` is called for visible bars only
    void setBars(int count, const BarExtents& extents, std::function<RankedBar(int)> bar);
    int count() const { return count_; }
    RankedBar bar(int index) const { return bar_(index); }
    void setAxis(const QString& title); ///< meaning and unit of the length
    void setAxisVisible(bool on);       ///< off: the values at the ends of the rows are enough
    void setNamesTensors();             ///< names are shortened as names of tensors
    void setToken(int token);           ///< colour, 0..3: dataA..dataD
    /// on: bars begin at 0 even if the values differ little; call it before setBars()
    void setFromZero(bool on);
    void setCurrent(int index); ///< -1: none; does not scroll
    void setLinked(int index);  ///< highlighted as if under the mouse; scrolls to it; -1: none
    int current() const { return current_; }
    double axisBegin() const { return lo_; }                ///< the value at which bars and dots begin
    void setDescribe(std::function<QString(int)> describe); ///< sets the text of tooltips
    /// Sets actions for a bar; they come first in the context menu.
    void setBarActions(std::function<void(QMenu&, int index)> add) { barActions_ = std::move(add); }
    QRect barRect(int index) const; ///< the whole row, in pixels of the viewport
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
    int rowHeight() const; ///< few bars share the height

    int count_ = 0;
    std::function<RankedBar(int)> bar_;
    QString axis_;
    double lo_ = 0, hi_ = 0; ///< range of the axis
    bool dots_ = false, axisVisible_ = true, fromZero_ = false, namesTensors_ = false;
    double textWidth_ = 0, nameWidth_ = 0;
    int token_ = 2, current_ = -1, hover_ = -1;
    std::function<QString(int)> describe_;
    std::function<void(QMenu&, int)> barActions_;
};

} // namespace qs::gui
