// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Small scatter plots on shared axes, one for each class. A thin line joins the marks of a series, a heavy line the
// best marks (those that no other mark beats). The mark under the mouse is highlighted in all plots.

#include "app/gui/widgets/multiples_picture.h"

#include <QAbstractScrollArea>

#include <functional>

namespace qs::gui {

class SmallMultiples : public QAbstractScrollArea {
    Q_OBJECT
public:
    explicit SmallMultiples(QWidget* parent = nullptr);
    void setAxes(const QString& x, const QString& y) { picture_.setAxes(x, y); }
    /// Panels compare two orders: no line joins the marks, a dashed one shows where both are equal.
    void setComparesOrders(bool on) { picture_.setComparesOrders(on); }
    void setDescribe(std::function<QString(int panel, int id)> describe); ///< sets the text of the read-out
    void setData(QStringList series, std::vector<Multiple> panels);
    const std::vector<Multiple>& panels() const { return picture_.panels(); }
    void setCurrent(int panel, int id); ///< marked by a ring; the panel gets a frame
    int currentPanel() const { return marks_.currentPanel; }
    QPointF dotPosition(int panel, int id) const { return picture_.dotPosition(panel, id); } ///< in the viewport
    QRectF panelRect(int panel) const { return picture_.panelRect(panel); }                  ///< in the viewport
    QString dataAsTsv() const { return picture_.asTsv(); }
    QByteArray asSvg() const;
    QSize minimumSizeHint() const override { return {320, 200}; }

Q_SIGNALS:
    void dotClicked(int panel, int id);
    void panelClicked(int panel);

protected:
    bool viewportEvent(QEvent*) override;
    void paintEvent(QPaintEvent*) override;
    void resizeEvent(QResizeEvent*) override;
    void keyPressEvent(QKeyEvent*) override;
    void contextMenuEvent(QContextMenuEvent*) override;

private:
    void arrange();
    void paint(QPainter& painter) const;
    void hover(QPoint position, QPoint global);

    std::function<QString(int, int)> describe_;
    MultiplesPicture picture_;
    MultiplesMarks marks_;
};

} // namespace qs::gui
