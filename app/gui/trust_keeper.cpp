// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/trust_keeper.h"

namespace qs::gui {
namespace {

constexpr int kPauseMs = 150; ///< rows arrive many times a second

/// The trust in all proxies. Empty if no row has a figure of the model's output.
std::vector<ProxyTrust> trustsOf(const TrustKeeper::Measured& measured) {
    std::vector<AnalysisRow> rows;
    bool any = false;
    for (std::size_t i = 0; i < measured.weights; ++i) {
        rows.push_back(measured.rows.at(i));
        any = any || (rows.back() && rows.back()->onOutput);
    }
    std::vector<ProxyTrust> out;
    if (any)
        for (const Metric& metric : metrics())
            if (auto trust = proxyTrust(metric, rows)) out.push_back(std::move(*trust));
    return out;
}

} // namespace

TrustKeeper::TrustKeeper(QObject* parent) : QObject(parent) {
    pause_.setSingleShot(true);
    pause_.setInterval(kPauseMs);
    connect(&pause_, &QTimer::timeout, this, &TrustKeeper::compute);
}

void TrustKeeper::changed() {
    if (!pause_.isActive()) pause_.start();
}

void TrustKeeper::clear() {
    pause_.stop();
    task_.drop();
    known_.clear();
}

void TrustKeeper::compute() {
    if (task_.running()) return pause_.start();
    const auto work = [measured = source_()](const Job&) -> Result<Known> {
        Known known;
        for (const Measured& one : measured)
            if (auto trusts = trustsOf(one); !trusts.empty()) known[one.spec] = std::move(trusts);
        return known;
    };
    task_.run({}, work, [this](Known known) {
        if (known.empty() && known_.empty()) return;
        known_ = std::move(known);
        Q_EMIT renewed();
    });
}

const ProxyTrust* TrustKeeper::of(const Metric& proxy, const std::string& spec) const {
    const auto found = known_.find(spec);
    if (found == known_.end()) return nullptr;
    for (const ProxyTrust& trust : found->second)
        if (trust.proxy == &proxy) return &trust;
    return nullptr;
}

} // namespace qs::gui
