// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/tensor_page_strip.h"

#include "app/gui/session.h"

#include <QPushButton>

namespace qs::gui {

SensitivityStrip::SensitivityStrip(Session& session, QWidget* parent)
    : Card(tr("Sensitivity: layer × role"), parent), session_(session), map_(new HeatMap),
      analyse_(new QPushButton(tr("Analyse the model"))) {
    analyse_->setToolTip(tr("Measures every weight tensor under the current spec in the background"));
    addCorner(analyse_);
    map_->setAccessibleName(tr("Sensitivity: layer × role"));
    map_->setGap(2);
    setBody(map_);
    connect(analyse_, &QPushButton::clicked, this, [this] { session_.analyseModel(session_.spec()); });
    connect(map_, &HeatMap::cellClicked, this, [this](int row, int column) {
        const auto cell = std::size_t(row) * std::size_t(grid_.columns) + std::size_t(column);
        if (row < 0 || column < 0 || cell >= shown_.worst.size()) return;
        const int index = shown_.worst[cell];
        const auto& weights = session_.weights();
        if (index >= 0 && std::size_t(index) < weights.size()) session_.selectTensor(weights[std::size_t(index)]);
    });
    map_->setDescribe([this](int row, int column) {
        const auto cell = std::size_t(row) * std::size_t(grid_.columns) + std::size_t(column);
        if (row < 0 || column < 0 || cell >= shown_.worst.size() || shown_.worst[cell] < 0) return QString();
        const Metric* metric = findMetric(session_.metric().toStdString());
        const auto index = std::size_t(shown_.worst[cell]);
        if (!metric || index >= grid_.names.size()) return QString();
        const AnalysisRow analysis = session_.modelRows(session_.spec()).value(grid_.names[index]);
        const double value = metricValue(*metric, analysis);
        return grid_.shown[index] + u'\n' +
               (value == value ? metricText(*metric, value) : missingReason(*metric, analysis));
    });
}

void SensitivityStrip::rebuild() {
    grid_ = roleGrid(session_.weights());
    refresh();
}

void SensitivityStrip::refresh() {
    const Metric* metric = findMetric(session_.metric().toStdString());
    if (!metric || session_.weights().empty()) return;
    const auto& rows = session_.modelRows(session_.spec());
    analyse_->setVisible(rows.size() < qsizetype(session_.weights().size()));
    setTitle(tr("Sensitivity: layer × role, %1").arg(metricTitle(*metric)));
    setNote(tr("%1   %2 of %3 tensors")
                .arg(QString::fromStdString(specText(session_.spec())))
                .arg(rows.size())
                .arg(session_.weights().size()));
    setMessage(
        rows.isEmpty()
            ? tr("The model has not been measured under %1 yet.").arg(QString::fromStdString(specText(session_.spec())))
            : QString());
    if (rows.isEmpty()) return;
    shown_ = roleMap(grid_, rows, *metric);
    map_->setData(shown_.map);
    showTensor();
}

void SensitivityStrip::showTensor() {
    const auto& weights = session_.weights();
    const auto found = std::find(weights.begin(), weights.end(), session_.tensor());
    if (found == weights.end() || grid_.rowOf.size() != weights.size()) return map_->setCurrent(-1, -1);
    const auto index = std::size_t(found - weights.begin());
    map_->setCurrent(grid_.rowOf[index], grid_.columnOf[index]);
}

} // namespace qs::gui
