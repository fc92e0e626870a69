// SPDX-License-Identifier: GPL-3.0-or-later
// Limits, columns and the report of a verification.
#include "core/analysis/analysis_report.h"
#include "core/base/text.h"
#include "core/verify/verify.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace qs {
namespace {

/// A row of --fail-on: what it counts, or the figure that it looks at.
struct VerifyLimit {
    LimitKind kind;
    std::optional<double> (*figure)(const Verification& found);
};

std::optional<double> finite(double value) { return std::isnan(value) ? std::nullopt : std::optional(value); }

const std::vector<VerifyLimit>& limitRows() {
    static const std::vector<VerifyLimit> rows = {
        {{"differs", "tensors with values that no known spec makes", false},
         [](const Verification& v) { return std::optional(double(v.count(Derives::Differs))); }},
        {{"unknown", "tensors of which no spec is known", false},
         [](const Verification& v) { return std::optional(double(v.count(Derives::Unknown))); }},
        {{"missing", "tensors of the original that are not there", false},
         [](const Verification& v) { return std::optional(double(v.count(VerifyStatus::Missing))); }},
        {{"added", "tensors that the original does not have", false},
         [](const Verification& v) { return std::optional(double(v.count(VerifyStatus::Added))); }},
        {{"refused", "tensors that cannot be compared", false},
         [](const Verification& v) { return std::optional(double(v.count(VerifyStatus::Refused))); }},
        {{"claims", "claims that do not hold", false},
         [](const Verification& v) { return std::optional(double(v.falseClaims())); }},
        {{"nmse", "the largest NMSE of a tensor", true}, [](const Verification& v) { return v.largestNmse(); }},
        {{"bpw", "bits per weight of the quantized tensors", true},
         [](const Verification& v) { return finite(v.bpw()); }},
        {{"bpw_all", "bits per weight of all tensors", true},
         [](const Verification& v) { return finite(v.bpwOfAll()); }},
    };
    return rows;
}

Table summaryTable(const Verification& found) {
    using V = Verification;
    static const Columns<V> columns = {
        {{"bpw", "bpw", "", Show::Fixed, 4, Direction::None, "Of the quantized tensors"},
         [](const V& v) -> Value { return v.quantized ? Value{v.bpw()} : Value{}; }},
        {{"bpw_all", "bpw of all", "", Show::Fixed, 4, Direction::None, "Of all tensors"},
         [](const V& v) -> Value { return v.elements ? Value{v.bpwOfAll()} : Value{}; }},
        {{"quantized", "Quantized", "", Show::Integer, 0, Direction::None, "Tensors"},
         [](const V& v) -> Value { return std::int64_t(v.quantized); }},
        {{"exact", "Exact", "", Show::Integer, 0, Direction::None, "Tensors that derive exactly"},
         [](const V& v) -> Value { return std::int64_t(v.count(Derives::Exact)); }},
        {{"differs", "Differs", "", Show::Integer, 0, Direction::None, "Tensors"},
         [](const V& v) -> Value { return std::int64_t(v.count(Derives::Differs)); }},
        {{"unknown", "Unknown", "", Show::Integer, 0, Direction::None, "Tensors"},
         [](const V& v) -> Value { return std::int64_t(v.count(Derives::Unknown)); }},
        {{"false_claims", "False claims", "", Show::Integer, 0, Direction::None, ""},
         [](const V& v) -> Value { return std::int64_t(v.falseClaims()); }},
    };
    return makeTable("Summary", columns, std::vector<V>{found});
}

} // namespace

std::span<const LimitKind> verifyLimits() {
    static const std::vector<LimitKind> kinds = [] {
        std::vector<LimitKind> out;
        for (const VerifyLimit& row : limitRows()) out.push_back(row.kind);
        return out;
    }();
    return kinds;
}

std::string brokenLimit(const Verification& found, std::span<const Limit> limits) {
    for (const Limit& limit : limits) {
        const VerifyLimit& row = limitRows()[limit.kind];
        const auto figure = row.figure(found);
        if (!figure || *figure <= limit.most) continue;
        return row.kind.isFigure ? fmt::format("{} is {}, above {}", row.kind.summary, significantText(*figure),
                                               significantText(limit.most))
                                 : fmt::format("there are {} {}", std::uint64_t(*figure), row.kind.summary);
    }
    return {};
}

std::string verificationText(const Verification& found) {
    std::string text = found.quantized
                           ? fmt::format("{} of {} tensors are quantized, at {:.4f} bpw; {:.4f} bpw over all tensors.",
                                         found.quantized, found.tensors.size(), found.bpw(), found.bpwOfAll())
                           : fmt::format("None of {} tensors is quantized.", found.tensors.size());
    text += fmt::format(" {} derive exactly, {} differ, {} are not known.", found.count(Derives::Exact),
                        found.count(Derives::Differs), found.count(Derives::Unknown));
    if (const auto missing = found.count(VerifyStatus::Missing); missing > 0)
        text += fmt::format(" {} are missing.", missing);
    if (const auto signs = found.zeroSigns(); signs > 0)
        text += fmt::format(" {} zeros of copies have another sign.", signs);
    if (const auto most = found.largestNmse())
        text += std::isfinite(*most)
                    ? fmt::format(" Largest NMSE: {}.", scientificText(*most, 3))
                    : std::string(" NaN or Inf stands where the other side has numbers: there is no largest NMSE.");
    if (!found.claims.empty())
        text += found.falseClaims()
                    ? fmt::format(" {} of {} claims do not hold.", found.falseClaims(), found.claims.size())
                    : fmt::format(" All {} claims hold.", found.claims.size());
    return text;
}

const Columns<VerifiedTensor>& verifiedColumns() {
    using T = VerifiedTensor;
    static const Columns<T> columns = {
        {{"tensor", "Tensor", "", Show::Name, 0, Direction::None, "In the original"},
         [](const T& t) -> Value { return escapeForPeople(t.tensor, 500); }},
        {{"other", "In the export", "", Show::Name, 0, Direction::None, "Its name in the export"},
         [](const T& t) -> Value { return escapeForPeople(t.other, 500); }},
        {{"stored_as", "Stored as", "", Show::Text, 0, Direction::None, "The type of its elements in the export"},
         [](const T& t) -> Value { return t.storedAs; }},
        {{"spec", "Spec", "", Show::Text, 0, Direction::None, "That it derives from, or comes nearest to"},
         [](const T& t) -> Value { return t.spec.empty() ? Value{} : Value{t.spec}; }},
        {{"derives", "Derives", "", Show::Text, 0, Direction::None,
          "exact: every value is what the spec makes of the original"},
         [](const T& t) -> Value { return std::string(derivesId(t.derives)); }},
        {{"nmse", "NMSE", "", Show::Scientific, 3, Direction::LowerIsBetter, "Squared error / squared weights"},
         [](const T& t) -> Value { return t.nmse ? Value{*t.nmse} : Value{}; }},
        {{"bytes", "Bytes", "", Show::Bytes, 0, Direction::LowerIsBetter,
          "Stored: codes, scales and all that decodes them"},
         [](const T& t) -> Value { return t.other.empty() ? Value{} : Value{std::int64_t(t.bytes)}; }},
        {{"bpw", "bpw", "", Show::Fixed, 4, Direction::LowerIsBetter, "8 x stored bytes / elements"},
         [](const T& t) -> Value { return t.bpw() ? Value{*t.bpw()} : Value{}; }},
        {{"differing", "Differing", "", Show::Integer, 0, Direction::LowerIsBetter,
          "Values that are not those of the spec"},
         [](const T& t) -> Value {
             return t.derives == Derives::Unknown ? Value{} : Value{std::int64_t(t.differing)};
         }},
        {{"zero_signs", "Zero signs", "", Show::Integer, 0, Direction::LowerIsBetter,
          "Zeros of a copy that have another sign than in the original: equal numbers in other bits"},
         [](const T& t) -> Value {
             return t.status == VerifyStatus::Ok && !t.isQuantized ? Value{std::int64_t(t.zeroSigns)} : Value{};
         }},
        {{"nonfinite", "Non-finite", "", Show::Integer, 0, Direction::LowerIsBetter,
          "Values that are NaN or Inf on one side and others on the other side"},
         [](const T& t) -> Value { return t.status == VerifyStatus::Ok ? Value{std::int64_t(t.nonFinite)} : Value{}; }},
        {{"status", "Status", "", Show::Text, 0, Direction::None, ""},
         [](const T& t) -> Value { return std::string(verifyStatusId(t.status)); }},
        {{"aligned", "Aligned by", "", Show::Text, 0, Direction::None, "How the two tensors were found to be one"},
         [](const T& t) -> Value { return t.aligned; }},
        {{"reason", "Reason", "", Show::Text, 0, Direction::None, ""}, [](const T& t) -> Value { return t.reason; }},
    };
    return columns;
}

const Columns<Claim>& claimColumns() {
    using C = Claim;
    static const Columns<C> columns = {
        {{"claim", "Claim", "", Show::Text, 0, Direction::None, ""}, [](const C& c) -> Value { return c.who; }},
        {{"says", "Says", "", Show::Text, 0, Direction::None, ""}, [](const C& c) -> Value { return c.says; }},
        {{"found", "Found", "", Show::Text, 0, Direction::None, "In the files"},
         [](const C& c) -> Value { return c.found; }},
        {{"holds", "Holds", "", Show::Text, 0, Direction::None, ""},
         [](const C& c) -> Value { return std::string(c.holds ? "yes" : "no"); }},
    };
    return columns;
}

Result<Report> verifyReport(const VerifyRequest& request, const Verification& found, const std::string& commandLine,
                            const Job& job) {
    auto provenance = modelProvenance(*request.original, "none", commandLine, job);
    if (!provenance) return tl::unexpected(provenance.error());
    const auto other = modelProvenance(*request.exported, "none", {}, job);
    if (!other) return tl::unexpected(other.error());
    Report report;
    report.title = fmt::format("{} against {}", request.exported->title, request.original->title);
    report.subtitle = verificationText(found);
    report.provenance = std::move(*provenance);
    for (const auto& [key, value] : *other)
        if (key.starts_with("input")) report.provenance.emplace_back(key, value);
    report.data = makeTable({}, verifiedColumns(), found.tensors);
    report.summary = summaryTable(found);
    report.more = {{"claims", makeTable({}, claimColumns(), found.claims)}};
    Section section;
    section.title = "Verification";
    section.brief = true;
    section.text = verificationText(found);
    section.note = "NMSE of weights is a proxy: it does not say what the model answers.";
    if (!found.claims.empty()) section.tables.push_back(makeTable("Claims", claimColumns(), found.claims));
    section.tables.push_back(
        withColumns(makeTable("Tensors", verifiedColumns(), found.tensors),
                    {"tensor", "spec", "derives", "nmse", "bpw", "differing", "status", "reason"}));
    report.sections.push_back(std::move(section));
    return report;
}

} // namespace qs
