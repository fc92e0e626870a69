// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/scores/paired.h"

#include "core/base/cell.h"

namespace qs::eval {
namespace {

/// Probability that a Student variable is between 0 and t: Simpson's rule over its density.
double studentHalf(double degrees, double t) {
    constexpr int kSteps = 2000; // must be even
    const double norm =
        std::exp(std::lgamma((degrees + 1) / 2) - std::lgamma(degrees / 2)) / std::sqrt(degrees * std::acos(-1.0));
    const auto density = [&](double x) { return norm * std::pow(1 + x * x / degrees, -(degrees + 1) / 2); };
    double sum = density(0) + density(t);
    for (int i = 1; i < kSteps; ++i) sum += (i % 2 == 1 ? 4 : 2) * density(t * i / kSteps);
    return sum * t / (3 * kSteps);
}

std::string verdictOf(const PairedDifference& figures) {
    if (!figures.hasInterval) return "not known: 1 chunk";
    return figures.firstIsBetter() ? "first" : figures.secondIsBetter() ? "second" : "undecided";
}

Columns<PairedRow> makePairedColumns() {
    using Row = PairedRow;
    constexpr auto none = Direction::None;
    Columns<Row> out;
    const auto name = [&](const char* id, const char* title, std::string Row::*of) {
        out.push_back(columnOf<Row>({id, title, "", Show::Code, 2, none, "A spec, a recipe or a model."}, of));
    };
    const auto nats = [&](const char* id, const char* title, const char* tip, int digits, auto of) {
        out.push_back(columnOf<Row>({id, title, "nats", Show::Significant, digits, none, tip},
                                    [of](const Row& row) { return of(row.figures); }));
    };
    using P = PairedDifference;
    name("first", "First", &Row::first);
    name("second", "Second", &Row::second);
    nats("kl_difference", "Δ KL", "Mean over tokens of the KL of the second minus that of the first.", 4,
         [](const P& p) { return p.difference.mean; });
    nats("kl_difference_se_chunk", "± by chunk", "Standard error of that mean when chunks are independent (CR1).", 2,
         [](const P& p) { return p.difference.byChunk; });
    nats("kl_difference_low", "95 % from", "Lower end of the 95 % interval: Student's t over chunks.", 3,
         [](const P& p) { return p.hasInterval ? Value(p.low) : Value(); });
    nats("kl_difference_high", "to", "Upper end of that interval.", 3,
         [](const P& p) { return p.hasInterval ? Value(p.high) : Value(); });
    out.push_back(
        columnOf<Row>({"better", "Smaller KL", "", Show::Text, 2, none, "Undecided where the interval holds 0."},
                      [](const Row& row) { return verdictOf(row.figures); }));
    out.push_back(columnOf<Row>(
        {"tokens", "Tokens", "", Show::Integer, 0, none, "Tokens at which the logits of both are finite."},
        [](const Row& row) { return row.figures.tokens; }));
    return out;
}

} // namespace

double studentHalfWidth(std::size_t degrees) {
    double low = 0, high = 13; // the largest value is 12.706, for 1 degree of freedom
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
