// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/scores/paired.h"

#include <cmath>

namespace qs::eval {
namespace {

/// Probability that a Student variable is between 0 and t: Simpson's rule over its density.
double studentHalf(double degrees, double t) {
    constexpr int kSteps = 2000; // even
    const double norm =
        std::exp(std::lgamma((degrees + 1) / 2) - std::lgamma(degrees / 2)) / std::sqrt(degrees * std::acos(-1.0));
    const auto density = [&](double x) { return norm * std::pow(1 + x * x / degrees, -(degrees + 1) / 2); };
    double sum = density(0) + density(t);
    for (int i = 1; i < kSteps; ++i) sum += (i % 2 == 1 ? 4 : 2) * density(t * i / kSteps);
    return sum * t / (3 * kSteps);
}

Column<PairedRow> pairName(const char* id, const char* title, std::string PairedRow::*name) {
    Column<PairedRow> column;
    column.id = id, column.title = title, column.show = Show::Code;
    column.tip = "A spec, a recipe or a model.";
    column.value = [name](const PairedRow& row) -> Value { return row.*name; };
    return column;
}

Column<PairedRow> pairNumber(const char* id, const char* title, const char* tip, int digits,
                             std::optional<double> (*of)(const PairedDifference&)) {
    Column<PairedRow> column;
    column.id = id, column.title = title, column.unit = "nats", column.tip = tip;
    column.show = Show::Significant, column.decimals = digits;
    column.value = [of](const PairedRow& row) -> Value {
        const auto value = of(row.figures);
        return value ? Value(*value) : Value(std::monostate{});
    };
    return column;
}

std::string verdictOf(const PairedDifference& figures) {
    if (!figures.hasInterval) return "not known: 1 chunk";
    return figures.firstIsBetter() ? "first" : figures.secondIsBetter() ? "second" : "undecided";
}

Columns<PairedRow> makePairedColumns() {
    using P = PairedDifference;
    using Figure = std::optional<double>;
    Columns<PairedRow> out;
    out.push_back(pairName("first", "First", &PairedRow::first));
    out.push_back(pairName("second", "Second", &PairedRow::second));
    out.push_back(pairNumber("kl_difference", "Δ KL",
                             "Mean over tokens of the KL of the second minus that of the first.", 4,
                             [](const P& p) -> Figure { return p.difference.mean; }));
    out.push_back(pairNumber("kl_difference_se_chunk", "± by chunk",
                             "Standard error of that mean when chunks are independent (CR1).", 2,
                             [](const P& p) -> Figure { return p.difference.byChunk; }));
    out.push_back(pairNumber("kl_difference_low", "95 % from",
                             "Lower end of the 95 % interval: Student's t over chunks.", 3,
                             [](const P& p) -> Figure { return p.hasInterval ? Figure(p.low) : Figure(); }));
    out.push_back(pairNumber("kl_difference_high", "to", "Upper end of that interval.", 3,
                             [](const P& p) -> Figure { return p.hasInterval ? Figure(p.high) : Figure(); }));
    Column<PairedRow> better;
    better.id = "better", better.title = "Smaller KL", better.tip = "Undecided where the interval holds 0.";
    better.value = [](const PairedRow& row) -> Value { return verdictOf(row.figures); };
    out.push_back(std::move(better));
    Column<PairedRow> tokens;
    tokens.id = "tokens", tokens.title = "Tokens", tokens.show = Show::Integer, tokens.decimals = 0;
    tokens.tip = "Tokens at which the logits of both are finite.";
    tokens.value = [](const PairedRow& row) -> Value { return std::int64_t(row.figures.tokens); };
    out.push_back(std::move(tokens));
    return out;
}

} // namespace

double studentHalfWidth(std::size_t degrees) {
    double low = 0, high = 13; // of 1 degree: 12.706
    for (int i = 0; i < 60; ++i) {
        const double middle = (low + high) / 2;
        (studentHalf(double(degrees), middle) < 0.475 ? low : high) = middle;
    }
    return (low + high) / 2;
}

std::optional<PairedDifference> pairedDifference(std::span<const TokenScore> first,
                                                 std::span<const TokenScore> second) {
    std::vector<double> differences;
    std::vector<std::size_t> chunks;
    for (std::size_t i = 0; i < first.size(); ++i) {
        if (!first[i].finite || !second[i].finite) continue;
        differences.push_back(second[i].divergence - first[i].divergence);
        chunks.push_back(first[i].chunk);
    }
    if (chunks.empty()) return {};
    std::size_t groups = 1;
    for (std::size_t i = 1; i < chunks.size(); ++i) groups += chunks[i] != chunks[i - 1];
    PairedDifference out;
    out.tokens = differences.size(), out.difference = estimate(differences, chunks);
    out.hasInterval = out.difference.byChunk.has_value();
    const double half = out.hasInterval ? studentHalfWidth(groups - 1) * *out.difference.byChunk : 0.0;
    out.low = out.difference.mean - half, out.high = out.difference.mean + half;
    return out;
}

std::vector<PairedRow> pairedRows(std::span<const std::string> names, std::span<const std::vector<TokenScore>> scores) {
    std::vector<std::size_t> present;
    for (std::size_t i = 0; i < names.size(); ++i)
        if (!scores[i].empty()) present.push_back(i);
    const bool all = present.size() * (present.size() - std::min<std::size_t>(1, present.size())) / 2 <= kMostPairs;
    std::vector<PairedRow> rows;
    for (std::size_t a = 0; a < (all ? present.size() : 1); ++a)
        for (std::size_t b = a + 1; b < present.size(); ++b)
            if (const auto figures = pairedDifference(scores[present[a]], scores[present[b]]))
                rows.push_back({names[present[a]], names[present[b]], *figures});
    return rows;
}

const Columns<PairedRow>& pairedColumns() {
    static const Columns<PairedRow> columns = makePairedColumns();
    return columns;
}

} // namespace qs::eval
