// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/scores/llama_statistics.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace qs::eval {
namespace {

constexpr float kLeastLogProbability = -16.0f; ///< of the base: tokens at or below it do not count

/// Linear in f32 at fraction * (n - 1), which is not exact above 2^24 values.
float llamaPercentile(const std::vector<float>& sorted, float fraction) {
    const float at = fraction * float(sorted.size() - 1);
    const auto below = std::size_t(at);
    const float rest = at - float(below);
    return (1.0f - rest) * sorted[below] + rest * sorted[std::min(below + 1, sorted.size() - 1)];
}

float llamaMedian(const std::vector<float>& sorted) {
    const std::size_t middle = sorted.size() / 2;
    return sorted.size() % 2 == 0 ? 0.5f * (sorted[middle] + sorted[middle - 1]) : sorted[middle];
}

struct NamedFraction {
    const char* name;
    float fraction;
};

} // namespace

LlamaScore scoreAsLlama(std::span<const float> base, std::span<const float> logits, std::int32_t token) {
    LlamaScore out;
    const auto top = std::ranges::max_element(logits);
    const float largest = *top;
    double sum = 0;
    for (const float logit : logits) sum += double(std::exp(logit - largest));
    const auto logSum = float(std::log(sum));
    const float whole = largest + logSum; ///< ln of the sum of exp(logit)
    out.nll = whole - logits[std::size_t(token)];
    out.baseNll = -base[std::size_t(token)];
    for (std::size_t v = 0; v < base.size(); ++v)
        if (base[v] > kLeastLogProbability) out.divergence += double(std::exp(base[v]) * (base[v] - logits[v] + whole));
    out.probabilityChange = std::exp(-out.nll) - std::exp(-out.baseNll);
    out.sameTop = top - logits.begin() == std::ranges::max_element(base) - base.begin();
    return out;
}

void LlamaStatistics::add(const LlamaScore& score) {
    nll_.add(double(score.nll), double(score.nll * score.nll));
    baseNll_.add(double(score.baseNll), double(score.baseNll * score.baseNll));
    products_ += double(score.nll * score.baseNll);
    divergence_.add(score.divergence, score.divergence * score.divergence);
    const auto squared = double(score.probabilityChange * score.probabilityChange);
    change_.add(double(score.probabilityChange), squared);
    changeSquared_.add(squared, squared * squared);
    sameTop_ += score.sameTop;
    divergences_.push_back(float(score.divergence));
    changes_.push_back(score.probabilityChange);
}

LlamaStatistics::Mean LlamaStatistics::mean(const Sums& sums) const {
    const auto n = double(count());
    const double value = sums.sum / n, variance = sums.squares / n - value * value;
    return {value, variance > 0 && count() > 10 ? std::sqrt(variance / (n - 1)) : 0.0};
}

double LlamaStatistics::covariance() const {
    const auto n = double(count());
    return count() < 10 ? 0.0 : (products_ / n - (nll_.sum / n) * (baseNll_.sum / n)) / (n - 1);
}

LlamaStatistics::Mean LlamaStatistics::logRatio() const {
    const Mean q = mean(nll_), base = mean(baseNll_);
    return {q.value - base.value, std::sqrt(q.error * q.error + base.error * base.error - 2.0 * covariance())};
}

LlamaStatistics::Mean LlamaStatistics::rms() const {
    const Mean squared = mean(changeSquared_);
    const double value = std::sqrt(squared.value);
    return {value, 0.5 / value * squared.error};
}

LlamaStatistics::Mean LlamaStatistics::sameTop() const {
    const double share = double(sameTop_) / double(count());
    return {share, std::sqrt(share * (1.0 - share) / double(count() - 1))};
}

std::string LlamaStatistics::chunkHeader() {
    return "chunk             PPL               ln(PPL(Q)/PPL(base))          KL Divergence              Δp RMS        "
           "    "
           "Same top p\n";
}

std::string LlamaStatistics::chunkLine(std::size_t chunk) const {
    const Mean q = mean(nll_), ratio = logRatio(), divergence = mean(divergence_), change = rms(), same = sameTop();
    const double perplexity = std::exp(q.value);
    return fmt::format("{:4}    {:9.4f} ± {:9.4f}    {:10.5f} ± {:10.5f}    {:10.5f} ± {:10.5f}    {:6.3f} ± {:6.3f} %"
                       "    {:6.3f} ± {:6.3f} %\n",
                       chunk + 1, perplexity, perplexity * q.error, ratio.value, ratio.error, divergence.value,
                       divergence.error, 100.0 * change.value, 100.0 * change.error, 100.0 * same.value,
                       100.0 * same.error);
}

std::string LlamaStatistics::summary() const {
    const Mean q = mean(nll_), base = mean(baseNll_), ratio = logRatio(), divergence = mean(divergence_);
    const double pplQ = std::exp(q.value), pplBase = std::exp(base.value), pplRatio = std::exp(ratio.value);
    const double errorQ = pplQ * q.error, errorBase = pplBase * base.error;
    const double difference = std::sqrt(errorQ * errorQ + errorBase * errorBase - 2.0 * pplQ * pplBase * covariance());
    std::string out = "====== Perplexity statistics ======\n";
    const auto line = [&](const char* name, double value, double error) {
        out += fmt::format("{:<30}: {:10.6f} ± {:10.6f}\n", name, value, error);
    };
    line("Mean PPL(Q)", pplQ, errorQ);
    line("Mean PPL(base)", pplBase, errorBase);
    out += fmt::format("Cor(ln(PPL(Q)), ln(PPL(base))): {:6.2f}%\n", 100.0 * (covariance() / (q.error * base.error)));
    line("Mean ln(PPL(Q)/PPL(base))", ratio.value, ratio.error);
    line("Mean PPL(Q)/PPL(base)", pplRatio, pplRatio * ratio.error);
    line("Mean PPL(Q)-PPL(base)", pplQ - pplBase, difference);

    std::vector<float> sorted = divergences_;
    std::ranges::sort(sorted);
    out += fmt::format("\n====== KL divergence statistics ======\nMean    KLD: {:10.6f} ± {:10.6f}\n", divergence.value,
                       divergence.error);
    const auto kld = [&](const char* name, float value) { out += fmt::format("{:<7} KLD: {:10.6f}\n", name, value); };
    constexpr NamedFraction kHigh[] = {{"99.9%", 0.999f}, {"99.0%", 0.990f}, {"95.0%", 0.950f}, {"90.0%", 0.900f}};
    constexpr NamedFraction kLow[] = {{"10.0%", 0.100f}, {" 5.0%", 0.050f}, {" 1.0%", 0.010f}, {" 0.1%", 0.001f}};
    kld("Maximum", sorted.back());
    for (const auto& [name, fraction] : kHigh) kld(name, llamaPercentile(sorted, fraction));
    kld("Median", llamaMedian(sorted));
    for (const auto& [name, fraction] : kLow) kld(name, llamaPercentile(sorted, fraction));
    kld("Minimum", sorted.front());

    const Mean change = mean(change_), changeRms = rms(), same = sameTop();
    sorted = changes_;
    std::ranges::sort(sorted);
    out += fmt::format("\n====== Token probability statistics ======\nMean    Δp: {:6.3f} ± {:5.3f} %\n",
                       100.0 * change.value, 100.0 * change.error);
    const auto dp = [&](const char* name, float value) {
        out += fmt::format("{:<7} Δp: {:6.3f}%\n", name, 100.0 * double(value));
    };
    dp("Maximum", sorted.back());
    for (const auto& [name, fraction] : kHigh) dp(name, llamaPercentile(sorted, fraction));
    dp("75.0%", llamaPercentile(sorted, 0.750f));
    dp("Median", llamaMedian(sorted));
    dp("25.0%", llamaPercentile(sorted, 0.250f));
    for (const auto& [name, fraction] : kLow) dp(name, llamaPercentile(sorted, fraction));
    dp("Minimum", sorted.front());
    out += fmt::format("RMS Δp    : {:6.3f} ± {:5.3f} %\nSame top p: {:6.3f} ± {:5.3f} %\n", 100.0 * changeRms.value,
                       100.0 * changeRms.error, 100.0 * same.value, 100.0 * same.error);
    return out;
}

} // namespace qs::eval
