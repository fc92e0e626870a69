// SPDX-License-Identifier: GPL-3.0-or-later
// A picture of the model into the cards of the overview.
#include "app/gui/pages/overview/overview_page.h"
#include "app/gui/session.h"
#include "app/gui/widgets/card.h"
#include "app/gui/widgets/staged_refresh.h"
#include "core/base/text.h"

#include <QLabel>
#include <QStringList>

#include <algorithm>
#include <cmath>

namespace qs::gui {

void OverviewPage::show(std::shared_ptr<const OverviewPicture> picture) {
    picture_ = std::move(picture);
    QString empty;
    if (!picture_->model)
        empty = tr("No model is open. Ctrl+O opens one.");
    else if (picture_->layout->weights.empty())
        empty = tr("This file holds no float tensor of rank 2 or more: nothing to quantize.");
    else if (picture_->refused == int(picture_->layout->weights.size()))
        empty = tr("Nothing was measured: %1 takes none of these tensors.\n%2")
                    .arg(QString::fromStdString(specText(picture_->spec)), picture_->refusal);
    for (auto* card : {mapCard_, barsCard_, sqnrCard_, shareCard_, bytesCard_}) card->setMessage(empty);
    if (picture_->refused > 0 && !empty.isEmpty()) // once is enough
        for (auto* card : {barsCard_, sqnrCard_, shareCard_, bytesCard_}) card->setMessage(tr("Not measured"));
    const auto& m = *picture_->metric;
    // What no tensor has says once what it needs, such as inputs of the layers.
    const auto weights = qsizetype(picture_->layout->weights.size());
    if (empty.isEmpty() && picture_->ranking.measured == 0 && weights > 0 && picture_->rows.size() == weights)
        for (auto* card : {mapCard_, barsCard_})
            card->setMessage(tr("%1: not measured.\n%2").arg(QString::fromUtf8(m.title), unmeasured(m)));
    metrics_->setCurrentIndex(metrics_->findData(QString::fromUtf8(m.id)));
    proxy_->setVisible(m.proxy);
    mapView_->setData(picture_->map.map);
    bars_->setAxis(metricTitle(m));
    bars_->setBars(int(picture_->ranking.order.size()), picture_->ranking.extents, [drawn = picture_](int bar) {
        const auto weight = std::size_t(drawn->ranking.order[std::size_t(bar)]);
        const double value = drawn->ranking.values[weight];
        return RankedBar{drawn->layout->grid.brief[weight], value, metricText(*drawn->metric, value),
                         std::isnan(value) ? missingReason(*drawn->metric, drawn->rows.at(weight)) : QString()};
    });
    const QString spec = QString::fromStdString(specText(picture_->spec));
    mapCard_->setTitle((picture_->layout->grid.layers.isEmpty() ? tr("Sensitivity: tensor by tensor, %1")
                                                                : tr("Sensitivity: layer × role, %1"))
                           .arg(picture_->map.map.unit));
    mapCard_->setNote(spec);
    barsCard_->setNote(metricTitle(m));
    note_->setText(
        picture_->model
            ? tr("%1 of %2 tensors measured").arg(picture_->ranking.measured).arg(picture_->layout->weights.size())
            : QString());
    if (picture_->refused > 0) note_->setText(note_->text() + tr(", %1 refused").arg(picture_->refused));
    if (picture_->larger > 0) note_->setText(note_->text() + tr(", %1 larger than the source").arg(picture_->larger));
    QStringList why{picture_->refusal, picture_->largest};
    why.removeAll(QString());
    note_->setToolTip(why.join(u'\n'));
    follow();
    charts_->askAll();
}

void OverviewPage::showSpread() {
    const auto& spread = picture_->spread;
    QVector<PlotMarker> markers;
    if (spread.tensors > 0) {
        sqnr_->setXRange(spread.lo, spread.hi);
        markers << PlotMarker{spread.median, tr("median"), true, true, 4};
    }
    sqnr_->setData({spread.bars}, markers, true);
    const auto weights = qsizetype(picture_->layout->weights.size());
    const bool none = picture_->refused == weights; // the card says so
    if (picture_->rows.size() == weights && !none)
        sqnrCard_->setMessage(spread.tensors > 0 ? QString()
                                                 : tr("No tensor has a finite SQNR: no error, or no weight but 0."));
    QStringList note;
    if (spread.tensors > 0)
        note << tr("median %1 dB").arg(spread.median, 0, 'f', 2);
    else if (!none && spread.exact == 0)
        note << tr("not measured yet");
    if (spread.exact > 0) note << tr("%1 exact").arg(spread.exact);
    sqnrCard_->setNote(note.join(QStringLiteral("   ")));
}

void OverviewPage::showShare() {
    const auto& share = picture_->share;
    const auto weights = qsizetype(picture_->layout->weights.size());
    if (picture_->rows.size() == weights && picture_->refused != weights)
        shareCard_->setMessage(share.most > 0 ? QString() : tr("There is no squared error to add up."));
    QVector<PlotMarker> markers;
    if (share.most > 0) {
        share_->setXRange(0, share.tensors);
        share_->setYRange(0, 100);
        markers << PlotMarker{double(share.most), tr("80 %"), true, true, 4};
    }
    share_->setData({share.curve}, markers, true);
    shareCard_->setNote(share.most > 0 ? tr("80 % in %1 of %2").arg(share.most).arg(share.tensors) : QString());
}

void OverviewPage::showBytes() {
    const auto& bytes = picture_->bytes;
    bytes_->setBars(bytes.bars);
    const auto text = [](std::uint64_t n) { return QString::fromStdString(bytesText(n)); };
    bytesCard_->setNote(!picture_->model ? QString()
                        : bytes.pending > 0 || bytes.after == 0
                            ? text(bytes.before)
                            : tr("%1 → %2   %3×")
                                  .arg(text(bytes.before), text(bytes.after))
                                  .arg(double(bytes.before) / double(bytes.after), 0, 'f', 2));
}

} // namespace qs::gui
