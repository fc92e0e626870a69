// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/inspected_tensor.h"

namespace qs::gui {

InspectedTensor::InspectedTensor() : probeA_(this), probeB_(this) {
    follow(probeA_, a_);
    follow(probeB_, b_);
}

void InspectedTensor::follow(TensorProbe& probe, AnalysisRow& answer) {
    const auto take = [this, &answer](const AnalysisRow& row) {
        answer = withEffect(row, effects_.get());
        stale_ = probeA_.running() || (comparing_ && probeB_.running());
        Q_EMIT changed();
    };
    connect(&probe, &TensorProbe::answered, this, [this, take](const AnalysisRow& row) {
        Q_EMIT answered(row);
        take(row);
    });
    connect(&probe, &TensorProbe::failed, this, [this, take](const QString& sentence) {
        take(nullptr);
        Q_EMIT failed(sentence);
    });
}

void InspectedTensor::ask(const Question& question, const QuantSpec* a, const QuantSpec* b) {
    stale_ = true;
    Q_EMIT started();
    const auto& [model, tensor, known, inputs, decodedAs] = question;
    if (a) probeA_.ask(model, tensor, *a, known, inputs, decodedAs);
    if (b) probeB_.ask(model, tensor, *b, known, inputs, decodedAs);
}

void InspectedTensor::setComparing(bool on) {
    comparing_ = on;
    if (!on) b_ = nullptr;
}

void InspectedTensor::setEffects(std::shared_ptr<const OutputEffects> effects) {
    effects_ = std::move(effects);
    a_ = withEffect(a_, effects_.get()), b_ = withEffect(b_, effects_.get());
    Q_EMIT changed();
}

void InspectedTensor::forget() {
    probeA_.forget();
    probeB_.forget();
}

void InspectedTensor::cancel() {
    probeA_.cancel();
    probeB_.cancel();
}

void InspectedTensor::clear() {
    forget();
    a_ = b_ = nullptr;
    effects_.reset();
    stale_ = false;
}

} // namespace qs::gui
