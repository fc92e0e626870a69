// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/files/imports/import_rows.h"

#include <charconv>
#include <cmath>

namespace qs::eval {
namespace {

struct LabelledColumn {
    std::string_view label, column;
};

/// Labels that llama-perplexity prints now, and those in the tables of its README. Spaces are single.
constexpr LabelledColumn kLabels[] = {{"Mean PPL(Q)", "ppl"},
                                      {"Mean PPL", "ppl"},
                                      {"PPL", "ppl"},
                                      {"Final estimate", "ppl"},
                                      {"Mean PPL(base)", "ppl_ref"},
                                      {"Cor(ln(PPL(Q)), ln(PPL(base)))", "ppl_correlation"},
                                      {"Mean ln(PPL(Q)/PPL(base))", "dlnppl"},
                                      {"Mean PPL(Q)/PPL(base)", "ppl_ratio"},
                                      {"Mean PPL ratio", "ppl_ratio"},
                                      {"Mean PPL(Q)-PPL(base)", "ppl_difference"},
                                      {"Mean ΔPPL", "ppl_difference"},
                                      {"ΔPPL", "ppl_difference"},
                                      {"PPL correlation", "ppl_correlation"},
                                      {"RMS Δp", "dp_rms"},
                                      {"Same top p", "top1"},
                                      {"KLD", "kl_mean"}};
/// Percentiles in llama.cpp's table, for KLD ("kl_") and for Δp ("dp_"), and the ends of their column names.
constexpr LabelledColumn kPercentiles[] = {
    {"Mean", "mean"}, {"Maximum", "max"}, {"99.9%", "p999"},    {"99.0%", "p99"},  {"95.0%", "p95"},
    {"90.0%", "p90"}, {"75.0%", "p75"},   {"Median", "median"}, {"25.0%", "p25"},  {"10.0%", "p10"},
    {"5.0%", "p5"},   {"1.0%", "p1"},     {"0.1%", "p01"},      {"Minimum", "min"}};

std::string singleSpaced(std::string_view text) {
    std::string out;
    for (const char c : trimmed(text))
        if (c != ' ' || out.back() != ' ') out += c;
    return out;
}

} // namespace

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view kBlank = " \t\r\n";
    const auto begin = text.find_first_not_of(kBlank);
    return begin == text.npos ? std::string_view() : text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

std::vector<std::string_view> piecesOf(std::string_view text, char separator) {
    std::vector<std::string_view> out;
    for (std::size_t begin = 0;;) {
        const auto end = text.find(separator, begin);
        out.push_back(trimmed(text.substr(begin, end - begin)));
        if (end == text.npos) return out;
        begin = end + 1;
    }
}

std::optional<double> plainNumber(std::string_view text) {
    text = trimmed(text);
    if (text.starts_with('+')) text.remove_prefix(1);
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return {};
    return value;
}

std::optional<ImportedNumber> importedNumber(std::string_view text) {
    text = trimmed(text);
    double unit = 1;
    if (text.ends_with('%')) text.remove_suffix(1), unit = 0.01;
    std::string_view error;
    for (const std::string_view sign : {"±", "+/-"})
        if (const auto at = text.find(sign); at != text.npos && error.empty()) {
            error = text.substr(at + sign.size());
            text = text.substr(0, at);
        }
    text = trimmed(text);
    if (text.ends_with('%')) text.remove_suffix(1), unit = 0.01;
    const auto value = plainNumber(text);
    if (!value) return {};
    ImportedNumber out{*value * unit, {}};
    if (error.empty()) return out;
    const auto spread = plainNumber(error);
    if (!spread) return {};
    out.error = *spread * unit;
    return out;
}

std::string llamaColumn(std::string_view label, bool repeated) {
    const std::string text = singleSpaced(label);
    for (const auto& [known, column] : kLabels)
        if (text == known) return std::string(column);
    for (const auto& [what, prefix] : {LabelledColumn{" KLD", "kl_"}, LabelledColumn{" Δp", "dp_"}}) {
        if (!text.ends_with(what)) continue;
        const std::string_view which = std::string_view(text).substr(0, text.size() - what.size());
        if (repeated && which == "99.0%") return std::string(prefix) + "p95";
        for (const auto& [known, column] : kPercentiles)
            if (which == known) return std::string(prefix) + std::string(column);
    }
    return {};
}

} // namespace qs::eval
