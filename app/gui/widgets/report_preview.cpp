// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/report_preview.h"

#include "app/gui/theme.h"
#include "app/gui/widgets/name_text.h"
#include "core/base/text.h"

#include <QFontMetricsF>
#include <QKeyEvent>
#include <QPainter>
#include <QRegularExpression>
#include <QScrollBar>
#include <QSvgRenderer>

#include <algorithm>
#include <cmath>

namespace qs::gui {

namespace {

constexpr double kPage = ReportPreview::kWidth + 2 * ReportPreview::kBorder; ///< width of the document
constexpr double kBetween = 24;                                              ///< pixels between two columns

constexpr std::size_t kRows = 12; // rows shown of a table; the files have all rows
constexpr double kLine = 20;

QString shown(const ColumnInfo& column, const Value& value) {
    const auto* text = std::get_if<std::string>(&value);
    const std::size_t most = column.show == Show::Name ? 500 : 120;
    return QString::fromStdString(text ? escapeForPeople(cellText(column, value), most) : cellText(column, value));
}

/// The SVG has its dark colours in a media query, which Qt ignores.
QByteArray inTheme(const std::string& svg, bool dark) {
    // QtSvg supports the single properties of a font, not the shorthand.
    static const QRegularExpression shorthand(QStringLiteral("font:(\\d+px) '?([^,'}]+)'?[^;}]*"));
    auto text =
        QString::fromStdString(svg).replace(shorthand, QStringLiteral("font-size:\\1;font-family:'\\2'")).toUtf8();
    static const QByteArray query("@media screen and (prefers-color-scheme:dark){");
    const auto at = text.indexOf(query), end = text.indexOf("</style>");
    if (at < 0 || end < at || text.at(end - 1) != '}') return text;
    if (!dark) return text.remove(at, end - at);
    return text.remove(end - 1, 1).remove(at, query.size());
}

} // namespace

ReportPreview::ReportPreview(QWidget* parent) : QAbstractScrollArea(parent) {
    setFrameShape(QFrame::NoFrame);
    setFocusPolicy(Qt::StrongFocus);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setAccessibleName(tr("Preview of the report"));
    verticalScrollBar()->setSingleStep(int(2 * kLine));
    connect(&Theme::instance(), &Theme::changed, this, [this] { viewport()->update(); });
}

std::vector<QImage> ReportPreview::drawPlots(const Report& report, bool dark, double pixelRatio) {
    std::vector<QImage> images;
    for (const auto& section : report.sections)
        for (const auto& plot : section.plots) {
            QSvgRenderer renderer(inTheme(plotSvg(plot, kWidth), dark));
            const QSize size = renderer.defaultSize();
            QImage image(size * pixelRatio, QImage::Format_ARGB32_Premultiplied);
            image.setDevicePixelRatio(pixelRatio);
            image.fill(Qt::transparent);
            QPainter painter(&image);
            renderer.render(&painter, QRectF(QPointF(0, 0), QSizeF(size)));
            images.push_back(std::move(image));
        }
    return images;
}

void ReportPreview::setReport(std::shared_ptr<const Report> report, std::vector<QImage> plots) {
    report_ = std::move(report);
    plots_ = std::move(plots);
    layOut();
}

int ReportPreview::columns() const { return viewport()->width() >= 2 * kPage + kBetween ? 2 : 1; }

double ReportPreview::scale() const {
    const int across = columns();
    const double room = viewport()->width() - 8.0 - (across - 1) * kBetween;
    return std::clamp(room / (across * kPage), 0.4, kMostScale);
}

double ReportPreview::breakBefore(double top, double bottom) const {
    for (const auto& block : blocks_)
        if (block.y > top && block.y + block.height > bottom) return std::min(bottom, block.y);
    return bottom;
}

void ReportPreview::resizeEvent(QResizeEvent*) {
    verticalScrollBar()->setPageStep(viewport()->height());
    verticalScrollBar()->setRange(0, std::max(0, int(height_ * scale()) - viewport()->height()));
}

void ReportPreview::keyPressEvent(QKeyEvent* event) {
    if (event->key() == Qt::Key_Home)
        verticalScrollBar()->setValue(0);
    else if (event->key() == Qt::Key_End)
        verticalScrollBar()->setValue(verticalScrollBar()->maximum());
    else
        QAbstractScrollArea::keyPressEvent(event);
}

// ---- layout ------------------------------------------------------------------------------------------------------

void ReportPreview::add(double height, double gapAbove, Paint paint) {
    const double y = height_ + gapAbove;
    blocks_.push_back({y, height, std::move(paint)});
    height_ = y + height;
}

void ReportPreview::addText(const QString& text, const QFont& font, double gapAbove, bool muted) {
    const QRectF box = QFontMetricsF(font).boundingRect(QRectF(0, 0, kWidth, 1e6), Qt::TextWordWrap, text);
    add(std::ceil(box.height()), gapAbove, [=](QPainter& painter, const QRectF& area) {
        const auto& tokens = Theme::instance().tokens();
        painter.setFont(font);
        painter.setPen(muted ? tokens.muted : tokens.text);
        painter.drawText(area, Qt::TextWordWrap, text);
    });
}

void ReportPreview::addPairs(const std::vector<std::pair<std::string, std::string>>& pairs) {
    for (const auto& [key, value] : pairs) {
        const QString left = QString::fromStdString(key), right = QString::fromStdString(escapeForPeople(value, 400));
        add(18, &pairs.front().first == &key ? 16 : 0, [=](QPainter& painter, const QRectF& area) {
            const auto& tokens = Theme::instance().tokens();
            painter.setFont(Theme::words(11));
            painter.setPen(tokens.muted);
            painter.drawText(area, Qt::AlignLeft | Qt::AlignVCenter, left);
            painter.setFont(Theme::numbers());
            painter.setPen(tokens.text);
            const auto value = painter.fontMetrics().elidedText(right, Qt::ElideMiddle, kWidth - 140);
            painter.drawText(area.adjusted(140, 0, 0, 0), Qt::AlignLeft | Qt::AlignVCenter, value);
        });
    }
}

void ReportPreview::addCards(const Table& cards) {
    const int across = std::min<int>(3, std::max<int>(1, int(cards.rows.size())));
    const double width = (kWidth - 12.0 * (across - 1)) / across,
                 height = 22 + 16.0 * double(cards.columns.size() - 1) + 22;
    for (std::size_t first = 0; first < cards.rows.size(); first += std::size_t(across))
        add(height, 12, [=, this, &cards](QPainter& painter, const QRectF& area) {
            const auto& tokens = Theme::instance().tokens();
            for (std::size_t i = first; i < std::min(cards.rows.size(), first + std::size_t(across)); ++i) {
                const QRectF box(area.x() + double(i - first) * (width + 12), area.y(), width, height);
                painter.setPen(tokens.line);
                painter.setBrush(Qt::NoBrush);
                painter.drawRoundedRect(box, 6, 6);
                QRectF line(box.x() + 12, box.y() + 8, width - 24, 18);
                for (std::size_t c = 0; c < cards.columns.size(); ++c) {
                    const QString text = shown(cards.columns[c], cards.rows[i][c]);
                    double taken = 0; // width of the value at the right
                    if (c > 0) {
                        const QFontMetricsF numbers(Theme::numbers());
                        const auto value = numbers.elidedText(text, Qt::ElideMiddle, 0.7 * line.width());
                        taken = numbers.horizontalAdvance(value) + 10;
                        painter.setFont(Theme::numbers());
                        painter.setPen(tokens.text);
                        painter.drawText(line, Qt::AlignRight | Qt::AlignVCenter, value);
                    }
                    const QString left = c == 0 ? text : QString::fromStdString(headerText(cards.columns[c]));
                    painter.setFont(c == 0 ? Theme::words(12, QFont::DemiBold) : Theme::words(11));
                    painter.setPen(c == 0 ? tokens.text : tokens.muted);
                    painter.drawText(line, Qt::AlignLeft | Qt::AlignVCenter,
                                     painter.fontMetrics().elidedText(left, Qt::ElideRight, int(line.width() - taken)));
                    line.translate(0, c == 0 ? 20 : 16);
                }
            }
        });
}

void ReportPreview::addTable(const Table& table) {
    if (!table.title.empty())
        addText(QString::fromStdString(table.title), Theme::words(12, QFont::DemiBold), 16, false);
    const std::size_t rows = std::min(kRows, table.rows.size());
    const QFontMetricsF words(Theme::words(11)), numbers(Theme::numbers());
    std::vector<double> edges{0};
    std::vector<QStringList> cells(rows + 1);
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
        const auto& column = table.columns[c];
        const QString header = QString::fromStdString(headerText(column));
        double width = words.horizontalAdvance(header);
        QStringList texts;
        for (std::size_t r = 0; r < rows; ++r) {
            texts << shown(column, table.rows[r][c]);
            width = std::max(width, (isNumeric(column) ? numbers : words).horizontalAdvance(texts.last()));
        }
        width = std::min(width, 220.0) + 16;
        if (edges.back() + width > kWidth) break;
        edges.push_back(edges.back() + width);
        cells[0] << header;
        for (std::size_t r = 0; r < rows; ++r) cells[r + 1] << texts[qsizetype(r)];
    }
    std::vector<bool> right, names;
    for (const auto& column : table.columns)
        right.push_back(isNumeric(column)), names.push_back(column.show == Show::Name);
    for (std::size_t r = 0; r <= rows; ++r)
        add(kLine, r == 0 ? 8 : 0, [=, line = cells[r], header = r == 0](QPainter& painter, const QRectF& area) {
            const auto& tokens = Theme::instance().tokens();
            painter.fillRect(QRectF(area.left(), area.bottom() - 1, edges.back(), 1), tokens.line);
            for (qsizetype c = 0; c < line.size(); ++c) {
                const auto at = std::size_t(c);
                const QRectF box(area.left() + edges[at], area.top(), edges[at + 1] - edges[at] - 8, area.height());
                painter.setFont(right[at] && !header ? Theme::numbers() : Theme::words(11));
                painter.setPen(header ? tokens.muted : tokens.text);
                const bool name = names[at] && !header;
                painter.drawText(
                    box, Qt::AlignVCenter | (right[at] ? Qt::AlignRight : Qt::AlignLeft),
                    name ? fittedName(line[c], painter.font(), box.width() + 1)
                         : painter.fontMetrics().elidedText(line[c], Qt::ElideMiddle, int(box.width()) + 1));
            }
        });
    QStringList more;
    if (table.rows.size() > rows) more << tr("%1 more rows").arg(table.rows.size() - rows);
    if (const auto hidden = table.columns.size() - (edges.size() - 1); hidden > 0)
        more << tr("%1 more columns").arg(hidden);
    if (!more.isEmpty())
        addText(QStringLiteral("… ") + more.join(tr(" and ")) + tr(" in the file"), Theme::words(11), 4, true);
}

void ReportPreview::addPlot(const Plot& plot, const QImage& image) {
    addText(QString::fromStdString(plot.title), Theme::words(12, QFont::DemiBold), 16, false);
    add(image.height() / image.devicePixelRatio(), 6,
        [image](QPainter& painter, const QRectF& area) { painter.drawImage(area.topLeft(), image); });
}

void ReportPreview::layOut() {
    blocks_.clear();
    height_ = kBorder;
    if (report_) {
        addText(QString::fromStdString(escapeForPeople(report_->title)), Theme::words(18, QFont::DemiBold), 0, false);
        if (!report_->subtitle.empty()) addText(QString::fromStdString(report_->subtitle), Theme::words(12), 4, true);
        auto pairs = report_->provenance;
        for (auto& pair : pairs) pair.first = provenanceTitle(pair.first);
        addPairs(pairs);
        std::size_t plot = 0;
        for (const auto& section : report_->sections) {
            addText(QString::fromStdString(section.title), Theme::words(15, QFont::DemiBold), 32, false);
            if (!section.text.empty()) addText(QString::fromStdString(section.text), Theme::words(12), 6, true);
            if (!section.note.empty()) addText(QString::fromStdString(section.note), Theme::words(12), 6, false);
            if (!section.cards.rows.empty()) addCards(section.cards);
            for (const auto& description : section.plots)
                if (plot < plots_.size()) addPlot(description, plots_[plot++]);
            for (const auto& table : section.tables) addTable(table);
        }
    }
    height_ += kBorder;
    resizeEvent(nullptr);
    viewport()->update();
}

void ReportPreview::paintEvent(QPaintEvent*) {
    if (!report_) return;
    const auto& tokens = Theme::instance().tokens();
    QPainter painter(viewport());
    painter.setRenderHints(QPainter::Antialiasing | QPainter::SmoothPixmapTransform);
    const double s = scale(), high = viewport()->height() / s;
    const int across = columns();
    const double width = across * kPage * s + (across - 1) * kBetween;
    painter.translate(std::max(0.0, (viewport()->width() - width) / 2), 0);
    painter.scale(s, s);
    double top = verticalScrollBar()->value() / s;
    for (int column = 0; column < across && top < height_; ++column) {
        const double bottom = column + 1 < across ? breakBefore(top, top + high) : top + high;
        painter.save();
        painter.translate(column * (kPage + kBetween / s), -top);
        painter.fillRect(QRectF(0, top, kPage, std::min(high, height_ - top)), tokens.bg);
        painter.setClipRect(QRectF(0, top, kPage, bottom - top));
        for (const auto& block : blocks_) {
            if (block.y + block.height < top || block.y > bottom) continue;
            painter.save();
            block.paint(painter, QRectF(kBorder, block.y, kWidth, block.height));
            painter.restore();
        }
        painter.restore();
        top = bottom;
    }
}

} // namespace qs::gui
