// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What each tensor becomes, a row for each role and layers from left to right: the width of a cell is its bytes, the
// colour its bits, and hatched cells are locked.

#include <QString>
#include <QStringList>
#include <QWidget>

#include <functional>
#include <vector>

namespace qs::gui {

struct StripCell {
    int row = 0;
    int unit = 0; ///< several cells may be of one unit
    double bytes = 0;
    int spec = -1; ///< index into the legend; -1: kept as it is
    bool isLocked = false;
};
struct StripLegend {
    QString title;  ///< of the spec
    double bpw = 0; ///< sets the colour
};
struct StripData {
    QStringList rows;             ///< roles
    std::vector<StripCell> cells; ///< by row, then in the order of layers
    std::vector<StripLegend> specs;
};

class AssignmentStrip : public QWidget {
    Q_OBJECT
public:
    explicit AssignmentStrip(QWidget* parent = nullptr);
    void setData(StripData data);
    const StripData& data() const { return data_; }
    void setCurrent(int unit); ///< outlined; -1: none
    int current() const { return current_; }
    void setDescribe(std::function<QString(int unit)> describe) { describe_ = std::move(describe); }
    QRectF cellRect(std::size_t cell) const; ///< in pixels
    QColor colourOf(int spec) const;
    QSize minimumSizeHint() const override { return {240, 110}; }

Q_SIGNALS:
    void unitClicked(int unit);
    void unitOpened(int unit, const QRect& cell); ///< by a whole click or Enter; in global pixels
    void unitMenuAsked(int unit, const QPoint& global);

protected:
    bool event(QEvent*) override;
    void paintEvent(QPaintEvent*) override;
    void mousePressEvent(QMouseEvent*) override;
    void mouseReleaseEvent(QMouseEvent*) override;
    void mouseMoveEvent(QMouseEvent*) override;
    void leaveEvent(QEvent*) override;
    void keyPressEvent(QKeyEvent*) override;
    void contextMenuEvent(QContextMenuEvent*) override;

private:
    int cellAt(QPointF position) const; ///< -1: none
    int cellOfCurrent() const;
    void open(int cell);
    double labelWidth() const;
    double rowHeight() const;
    void paintLegend(QPainter& painter) const;
    StripData data_;
    std::vector<double> begins_; ///< of each cell: bytes before it in its row
    double mostBytes_ = 0;       ///< of a row
    int current_ = -1, hover_ = -1, pressed_ = -1;
    std::function<QString(int)> describe_;
};

} // namespace qs::gui
