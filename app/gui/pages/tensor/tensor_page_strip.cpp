// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/tensor/tensor_page_strip.h"

#include "app/gui/session.h"

#include <QPushButton>

namespace qs::gui {
namespace {
constexpr std::size_t kShortStrip = 2000; // number of weights whose picture takes less than 1 ms
}

SensitivityStrip::SensitivityStrip(Session& session, QWidget* parent)
    : Card(tr("Layer × role"), parent), session_(session), map_(new HeatMap),
      analyse_(new QPushButton(tr("Analyse the model"))) {
    analyse_->setToolTip(tr("Measures every weight tensor under the recipe in the background"));
    addCorner(analyse_);
    map_->setAccessibleName(tr("Layer × role"));
    map_->setGap(2);
    setBody(map_);
    connect(analyse_, &QPushButton::clicked, this, [this] { session_.analyseRecipe(); });
    connect(map_, &HeatMap::cellClicked, this, [this](int row, int column) {
        const int weight = weightAt(row, column);
        if (weight >= 0 && picture_->layout == session_.layout())
            session_.selectTensor(session_.weights()[std::size_t(weight)]);
    });
    map_->setDescribe([this](int row, int column) {
        const int weight = weightAt(row, column);
        if (weight < 0) return QString();
        const auto& analysis = picture_->rows.at(std::size_t(weight));
        const double value = metricValue(*picture_->metric, analysis);
        return picture_->layout->grid.shown[std::size_t(weight)] + u'\n' +
               (value == value ? metricText(*picture_->metric, value, analysis)
                               : missingReason(*picture_->metric, analysis));
    });
}

int SensitivityStrip::weightAt(int row, int column) const {
    const auto& map = picture_->map;
    if (row < 0 || column < 0 || row >= map.map.rows || column >= map.map.columns) return -1;
    return map.worst[std::size_t(row) * std::size_t(map.map.columns) + std::size_t(column)];
}

void SensitivityStrip::refresh() {
    const Metric* metric = findMetric(session_.metric().toStdString());
    if (!metric || session_.weights().empty()) return;
    const auto& rows = session_.recipeRows();
    const QString title = session_.recipe()->title(session_.spec());
    analyse_->setVisible(rows.size() < qsizetype(session_.weights().size()));
    setTitle(mapTitle(*metric, !session_.layout()->grid.layers.isEmpty()));
    const auto note = tr("%1   %2 of %3 tensors").arg(title).arg(rows.size()).arg(session_.weights().size());
    setNote(note);
    setToolTip(session_.output().metricTip(*metric, session_.spec()));
    setMessage(rows.isEmpty() ? tr("The model has not been measured under %1 yet.").arg(title) : QString());
    if (rows.isEmpty()) return;
    again_ = task_.running();
    if (again_) return;
    using Drawn = std::shared_ptr<const Picture>;
    const auto work = [layout = session_.layout(), rows, metric](const Job&) -> Result<Drawn> {
        Picture picture{layout, rows, metric, roleMap(layout->grid, rows, *metric)};
        for (std::size_t weight = 0; weight < layout->weights.size(); ++weight)
            picture.refused += rows.at(weight) && rows.at(weight)->status != Status::Ok;
        return std::make_shared<const Picture>(std::move(picture));
    };
    task_.runOrNow(session_.weights().size() <= kShortStrip, work, [this, note](const Result<Drawn>& picture) {
        if (picture && (*picture)->layout == session_.layout()) {
            show(*picture);
            if (picture_->refused > 0) setNote(note + tr(", %1 refused").arg(picture_->refused));
        }
        if (again_) refresh();
    });
}

void SensitivityStrip::show(std::shared_ptr<const Picture> picture) {
    picture_ = std::move(picture);
    map_->setData(picture_->map.map);
    showTensor();
}

void SensitivityStrip::showTensor() {
    const int weight = picture_->layout == session_.layout() ? session_.weightIndex(session_.tensor()) : -1;
    if (weight < 0) return map_->setCurrent(-1, -1);
    const auto& grid = picture_->layout->grid;
    map_->setCurrent(grid.rowOf[std::size_t(weight)], grid.columnOf[std::size_t(weight)]);
}

} // namespace qs::gui
