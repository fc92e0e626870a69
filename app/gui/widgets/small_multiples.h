// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Many small scatter plots on shared axes, one for each class: marks of a series joined by a thin line, a heavy line
// through the marks that nothing beats. What the mouse is over is raised in all of them.

#include <QAbstractScrollArea>
#include <QString>
#include <QStringList>

#include <functional>
#include <vector>

namespace qs::gui {

struct MultipleDot {
    double x = 0, y = 0;
    int series = 0;
    int id = 0; ///< the same thing in every panel
    bool best = false;
};
struct Multiple {
    QString title, note;
    std::vector<MultipleDot> dots; ///< by series, then x
    QString empty;                 ///< shown where there are no dots
};

class SmallMultiples : public QAbstractScrollArea {
    Q_OBJECT
public:
    explicit SmallMultiples(QWidget* parent = nullptr);
    void setAxes(const QString& x, const QString& y);
    void setDescribe(std::function<QString(int panel, int id)> describe); ///< the read-out
    void setData(QStringList series, std::vector<Multiple> panels);
    const std::vector<Multiple>& panels() const { return panels_; }
    void setCurrent(int panel, int id); ///< ringed; the panel is framed
    int currentPanel() const { return currentPanel_; }
    QPointF dotPosition(int panel, int id) const; ///< in viewport pixels
    QRectF panelRect(int panel) const;            ///< in viewport pixels
    QString dataAsTsv() const;
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
    struct Range {
        double lo = 0, hi = 1;
    };
    void arrange();
    void paint(QPainter& painter) const;
    void paintPanel(QPainter& painter, int panel) const;
    void paintLegend(QPainter& painter) const;
    QRectF plotRect(int panel) const;
    QPointF at(const QRectF& plot, double x, double y) const;
    void hover(QPoint position, QPoint global);
    int legendAt(QPointF position) const;

    std::function<QString(int, int)> describe_;
    QStringList series_;
    std::vector<Multiple> panels_;
    QString xTitle_, yTitle_;
    Range x_, y_;
    std::vector<QRectF> legend_; ///< per series
    double legendHeight_ = 0, panelWidth_ = 0, panelHeight_ = 0;
    int columns_ = 1;
    int currentPanel_ = 0, currentId_ = -1;
    int hoverPanel_ = -1, hoverId_ = -1, hoverSeries_ = -1;
};

} // namespace qs::gui
