// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Shows a report as its document will look, in the colours of the window. The plots are the SVG that every writer uses.

#include "core/report/report.h"

#include <QAbstractScrollArea>
#include <QImage>

#include <functional>
#include <memory>
#include <vector>

namespace qs::gui {

class ReportPreview : public QAbstractScrollArea {
    Q_OBJECT
public:
    explicit ReportPreview(QWidget* parent = nullptr);
    /// The pictures of all plots in document order, `kWidth` wide, in light or dark colours. Callable from any thread.
    static std::vector<QImage> drawPlots(const Report& report, bool dark, double pixelRatio);
    void setReport(std::shared_ptr<const Report> report, std::vector<QImage> plots);
    const Report* report() const { return report_.get(); }
    double documentHeight() const { return height_; }
    QSize sizeHint() const override { return {640, 480}; }

    static constexpr int kWidth = 720, kBorder = 32;
    static constexpr double kMostScale = 1.5; ///< in a wide window

protected:
    void paintEvent(QPaintEvent*) override;
    void resizeEvent(QResizeEvent*) override;
    void keyPressEvent(QKeyEvent*) override;

private:
    using Paint = std::function<void(QPainter&, const QRectF&)>;
    struct Block {
        double y, height;
        Paint paint;
    };
    void layOut();
    void add(double height, double gapAbove, Paint paint);
    void addText(const QString& text, const QFont& font, double gapAbove, bool muted);
    void addPairs(const std::vector<std::pair<std::string, std::string>>& pairs);
    void addCards(const Table& cards);
    void addTable(const Table& table);
    void addPlot(const Plot& plot, const QImage& image);
    int columns() const; ///< 2 in a wide window: the right one continues the left one
    double scale() const;
    double breakBefore(double top, double bottom) const; ///< where a column ends, so that it cuts no block

    std::shared_ptr<const Report> report_;
    std::vector<QImage> plots_;
    std::vector<Block> blocks_;
    double height_ = 0;
};

} // namespace qs::gui
