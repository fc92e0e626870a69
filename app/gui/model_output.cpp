// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/model_output.h"

#include "core/base/text.h"

namespace qs::gui {

ModelOutput::ModelOutput() { connect(&trust_, &TrustKeeper::renewed, this, &ModelOutput::trustChanged); }

void ModelOutput::setEvidence(std::shared_ptr<const eval::EvaluationRecord> evidence) {
    if (evidence_ == evidence) return;
    evidence_ = std::move(evidence);
    Q_EMIT evidenceChanged();
}

void ModelOutput::setText(OutputText text) {
    if (text_ == text) return;
    text_ = std::move(text);
    Q_EMIT textChanged();
}

void ModelOutput::setEffects(std::shared_ptr<const OutputEffects> effects) {
    if (effects && effects->empty()) effects.reset();
    if (effects == effects_) return;
    effects_ = std::move(effects);
    Q_EMIT effectsChanged();
    trust_.changed();
}

/// On a worker: the worst tokens of many specs are long texts.
void ModelOutput::restore(const EvidenceTexts& texts) {
    if (!texts.any()) return;
    using Read = std::shared_ptr<const RestoredEvidence>;
    const auto work = [texts](const Job&) -> Result<Read> {
        return std::make_shared<const RestoredEvidence>(readEvidence(texts));
    };
    reading_.run({}, work, [this](Read read) {
        restored_ = std::move(read);
        if (!evidence_) setEvidence(restored_->record);
        if (!effects_) setEffects(std::make_shared<const OutputEffects>(effectsOf(*restored_)));
        if (text_ == OutputText()) setText(textOf(*restored_));
        Q_EMIT evidenceRestored();
    });
}

const ProxyTrust* ModelOutput::trust(const Metric& proxy, const QuantSpec& spec) const {
    return trust_.of(proxy, canonicalText(spec));
}

QString ModelOutput::trustText(const Metric& proxy, const QuantSpec& spec) const {
    if (!proxy.proxy) return {};
    const ProxyTrust* known = trust(proxy, spec);
    if (!known) return tr("a proxy: how far it ranks as the output does is not measured");
    const auto number = [](double value) { return QString::fromStdString(fixedText(value, 2)); };
    return tr("a proxy: τ %1 [%2, %3] to %4")
        .arg(number(known->agreement.tau), number(known->agreement.low), number(known->agreement.high),
             QString::fromUtf8(known->measured->title));
}

QString ModelOutput::trustTip(const Metric& proxy, const QuantSpec& spec) const {
    const ProxyTrust* known = trust(proxy, spec);
    return QString::fromStdString(proxyRemark(proxy, known ? std::optional(*known) : std::nullopt, true));
}

QString ModelOutput::metricTip(const Metric& metric, const QuantSpec& spec) const {
    const QString trust = trustTip(metric, spec), tip = QString::fromStdString(qs::metricTip(metric));
    return trust.isEmpty() ? tip : tip + u'\n' + trust;
}

void ModelOutput::setTrustSource(std::function<std::vector<TrustKeeper::Measured>()> source) {
    trust_.setSource(std::move(source));
}

void ModelOutput::rowsChanged() {
    if (effects_) trust_.changed();
}

void ModelOutput::askForImport() {
    importAsked_ = true;
    Q_EMIT importRequested();
}

bool ModelOutput::takeImportAsked() { return std::exchange(importAsked_, false); }

void ModelOutput::clear() {
    reading_.drop();
    restored_.reset();
    effects_.reset();
    trust_.clear();
    setEvidence(nullptr);
    setText({});
}

} // namespace qs::gui
