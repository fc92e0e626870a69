// SPDX-License-Identifier: GPL-3.0-or-later
// What the session knows of the model's output, beside the figures of the weights.
#include "app/gui/page.h"
#include "app/gui/restored_evidence.h"
#include "app/gui/session_private.h"

#include "core/base/text.h"

namespace qs::gui {

void Session::followTrust() {
    d->trust.setSource([this] {
        std::vector<TrustKeeper::Measured> out;
        if (effects_)
            for (const QuantSpec& spec : d->sweep.specs())
                out.push_back({canonicalText(spec), d->sweep.rows(spec), weights().size()});
        return out;
    });
    connect(this, &Session::rowsChanged, this, [this] {
        if (effects_) d->trust.changed();
    });
    connect(&d->trust, &TrustKeeper::renewed, this, &Session::trustChanged);
}

void Session::setEffects(std::shared_ptr<const OutputEffects> effects) {
    if (effects && effects->empty()) effects.reset();
    if (effects == effects_) return;
    effects_ = std::move(effects);
    d->sweep.setEffects(effects_);
    currentA_ = withEffect(currentA_, effects_.get()), currentB_ = withEffect(currentB_, effects_.get());
    Q_EMIT currentChanged();
    d->trust.changed();
}

/// On a worker: the worst tokens of many specs are long texts.
void Session::restoreEvidence() {
    const EvidenceTexts texts{restored(QLatin1String(kEvidenceKept)), restored(QLatin1String(kTensorsKept)),
                              restored(QLatin1String(kEvidenceBegun)), restored(QLatin1String(kTensorsBegun))};
    if (!texts.any()) return;
    using Read = std::shared_ptr<const RestoredEvidence>;
    const auto work = [texts](const Job&) -> Result<Read> {
        return std::make_shared<const RestoredEvidence>(readEvidence(texts));
    };
    d->reading.run({}, work, [this](Read read) {
        restoredEvidence_ = std::move(read);
        if (!evidence_) setEvidence(restoredEvidence_->record);
        if (!effects_) setEffects(std::make_shared<const OutputEffects>(effectsOf(*restoredEvidence_)));
        if (outputText_ == OutputText()) setOutputText(textOf(*restoredEvidence_));
        Q_EMIT evidenceRestored();
    });
}

const ProxyTrust* Session::trust(const Metric& proxy, const QuantSpec& spec) const {
    return d->trust.of(proxy, canonicalText(spec));
}

QString Session::trustText(const Metric& proxy, const QuantSpec& spec) const {
    if (!proxy.proxy) return {};
    const ProxyTrust* known = trust(proxy, spec);
    if (!known) return tr("a proxy: how far it ranks as the output does is not measured");
    const auto number = [](double value) { return QString::fromStdString(fixedText(value, 2)); };
    return tr("a proxy: τ %1 [%2, %3] to %4")
        .arg(number(known->agreement.tau), number(known->agreement.low), number(known->agreement.high),
             QString::fromUtf8(known->measured->title));
}

QString Session::trustTip(const Metric& proxy, const QuantSpec& spec) const {
    const ProxyTrust* known = trust(proxy, spec);
    return QString::fromStdString(proxyRemark(proxy, known ? std::optional(*known) : std::nullopt, true));
}

QString Session::metricTip(const Metric& metric) const {
    const QString trust = trustTip(metric, specA_), tip = QString::fromStdString(qs::metricTip(metric));
    return trust.isEmpty() ? tip : tip + u'\n' + trust;
}

void Session::askForImport() {
    importAsked_ = true;
    showPage(kEvidencePage);
    Q_EMIT importRequested();
}

bool Session::takeImportAsked() { return std::exchange(importAsked_, false); }

} // namespace qs::gui
