// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/overview/overview_cards.h"

#include "app/gui/theme.h"
#include "app/gui/widgets/page_title.h"
#include "app/gui/widgets/plot_chart.h"
#include "app/gui/widgets/ranked_bars.h"
#include "core/base/text.h"

#include <QStringList>

namespace qs::gui {
namespace {

/// `name` is the object name. The title of the card is also the accessible name of its body.
template<class Body> Body* bodyOf(Card& card, const char* name, const QString& title) {
    auto* body = new Body;
    body->setObjectName(QLatin1String(name));
    body->setAccessibleName(title);
    card.setBody(body);
    return body;
}

} // namespace

SpreadCard::SpreadCard()
    : Card(tr("SQNR of all tensors")), chart_(bodyOf<PlotChart>(*this, "sqnrHistogram", tr("SQNR of all tensors"))) {
    chart_->setAxes(tr("SQNR, dB"), tr("tensors"));
    chart_->setYDecimals(0);
}

ShareCard::ShareCard()
    : Card(tr("Cumulative squared error")),
      chart_(bodyOf<PlotChart>(*this, "errorShare", tr("Cumulative squared error"))) {
    chart_->setAxes(tr("worst tensors"), tr("share of squared error, %"));
    chart_->setXDecimals(0);
}

BytesCard::BytesCard()
    : Card(tr("Bytes by format")), bars_(named(new RankedBars, "bytesByFormat")),
      layout_(named(captionLabel({}), "bytesCountedIn")) {
    bars_->setAccessibleName(tr("Bytes by format"));
    auto* body = new QWidget;
    auto* column = spaced(new QVBoxLayout(body), 4);
    column->addWidget(bars_, 1);
    column->addWidget(layout_);
    setBody(body);
    bars_->setToken(0);
    bars_->setFromZero(true);
    bars_->setAxisVisible(false);
}

void SpreadCard::show(const OverviewPicture& picture) {
    const auto& spread = picture.spread;
    QVector<PlotMarker> markers;
    if (spread.tensors > 0) {
        chart_->setXRange(spread.lo, spread.hi);
        markers << PlotMarker{spread.median, tr("median"), true, true, 4};
    }
    chart_->setData({spread.bars}, markers, true);
    const auto weights = qsizetype(picture.layout->weights.size());
    const bool none = picture.refused == weights; // the card shows the reason
    if (picture.rows.size() == weights && !none)
        setMessage(spread.tensors > 0 ? QString() : tr("No tensor has a finite SQNR: no error, or no weight but 0."));
    QStringList note;
    if (spread.tensors > 0)
        note << tr("median %1 dB").arg(spread.median, 0, 'f', 2);
    else if (!none && spread.exact == 0)
        note << tr("not measured yet");
    if (spread.exact > 0) note << tr("%1 exact").arg(spread.exact);
    setNote(note.join(QStringLiteral("   ")));
}

void ShareCard::show(const OverviewPicture& picture) {
    const auto& share = picture.share;
    const auto weights = qsizetype(picture.layout->weights.size());
    if (picture.rows.size() == weights && picture.refused != weights)
        setMessage(share.most > 0 ? QString() : tr("There is no squared error to add up."));
    QVector<PlotMarker> markers;
    if (share.most > 0) {
        chart_->setXRange(0, share.tensors);
        chart_->setYRange(0, 100);
        markers << PlotMarker{double(share.most), tr("80 %"), true, true, 4};
    }
    chart_->setData({share.curve}, markers, true);
    setNote(share.most > 0 ? tr("80 % in %1/%2").arg(share.most).arg(share.tensors) : QString());
}

void BytesCard::show(const OverviewPicture& picture) {
    const auto& bytes = picture.bytes;
    bars_->setBars(bytes.bars);
    const auto text = [](std::uint64_t n) { return QString::fromStdString(bytesText(n)); };
    const bool isWhole = picture.model && bytes.pending == 0 && bytes.after > 0;
    layout_->setText(isWhole ? tr("after: as the layout %1 writes it").arg(picture.countedIn) : QString());
    setNote(isWhole ? tr("→ %1   %2×") // the bars show the bytes before
                          .arg(text(bytes.after))
                          .arg(double(bytes.before) / double(bytes.after), 0, 'f', 2)
            : picture.model ? text(bytes.before)
                            : QString());
}

} // namespace qs::gui
