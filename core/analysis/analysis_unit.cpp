// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/analysis_unit.h"

#include "core/base/text.h"
#include "core/records/input_hash.h"
#include "core/records/unit_run.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <initializer_list>

namespace qs {

// Fields of the records, in the order of the structs.

constexpr Status lastOf(Status) { return Status::Failed; } // a tensor that is kept is no unit
DType lastOf(DType) { return dtypes().back().dtype; }

template<class Archive, archive::Of<ErrorSums> T> void fieldsOf(Archive& archive, T& s) {
    archive(s.n, s.se, s.se2, s.sae, s.sw2, s.swv, s.sv2, s.maxAbs, s.clipped, s.zeros, s.signFlips);
}

template<class Archive, archive::Of<Moments> T> void fieldsOf(Archive& archive, T& m) {
    archive(m.n, m.s1, m.s2, m.s3, m.s4, m.pivot, m.min, m.max, m.nan, m.inf, m.zeros);
}

template<class Archive, archive::Of<TensorStatistics> T> void fieldsOf(Archive& archive, T& s) {
    archive(s.moments, s.mean, s.std, s.kurtosis, s.crest, s.outlierChannels, s.outlierColumns, s.conversionError);
}

template<class Archive, archive::Of<InputErrors> T> void fieldsOf(Archive& archive, T& e) {
    archive(e.weightedNmse, e.outputNmse, e.hessianTrace);
}

/// Only the bins that are not empty: most are.
template<class Archive, archive::Of<FloatHistogram> T> void fieldsOf(Archive& archive, T& histogram) {
    std::vector<std::pair<std::uint32_t, std::uint64_t>> bins;
    if constexpr (Archive::isReader) {
        archive(bins);
        std::vector<std::uint64_t> counts(kFloatBins);
        for (const auto& [bin, count] : bins)
            if (bin < counts.size())
                counts[bin] = count;
            else
                archive.refuse();
        histogram = FloatHistogram(std::move(counts));
    } else {
        for (std::size_t bin = 0; bin < histogram.counts().size(); ++bin)
            if (const auto count = histogram.counts()[bin]) bins.emplace_back(std::uint32_t(bin), count);
        archive(bins);
    }
}

template<class Archive, archive::Of<Distribution> T> void fieldsOf(Archive& archive, T& d) {
    archive(d.error, d.value);
}

namespace {

/// A row without its spec and the effects on the output, which the run knows, and without pictures.
struct RowRecord {
    TensorAnalysis row;
    std::optional<Distribution> distribution;
};

template<class Archive, archive::Of<RowRecord> T> void fieldsOf(Archive& archive, T& record) {
    auto& r = record.row;
    archive(r.tensor, r.dtype, r.shape, r.elements, r.status, r.reason, r.bytesBefore, r.bytesAfter, r.bpw, r.decodedAs,
            r.sums, r.nan, r.inf, r.levels, r.codeCounts, r.p50, r.p95, r.p99, r.lloydGapDb, r.onInputs, r.solved,
            r.statistics, r.warnings, r.larger, r.seconds, record.distribution);
}

bool areFinite(std::initializer_list<double> numbers) {
    return std::ranges::all_of(numbers, [](double x) { return std::isfinite(x); });
}

/// True if statistics that were read can be those of so many elements. Sums of large values may be infinite.
bool fits(const TensorStatistics& s, std::uint64_t elements) {
    const Moments& m = s.moments;
    const auto all = std::int64_t(elements);
    return m.n >= 0 && m.n <= double(elements) && m.nan <= elements && m.inf <= elements && m.zeros <= elements &&
           areFinite({m.pivot, m.min, m.max}) && s.outlierChannels >= 0 && s.outlierChannels <= all &&
           s.outlierColumns >= 0 && s.outlierColumns <= all;
}

bool fits(const FloatHistogram& histogram, std::uint64_t elements) {
    std::uint64_t left = elements; // a sum could be more than 64 bits hold
    return std::ranges::all_of(histogram.counts(), [&](std::uint64_t count) {
        const bool isLess = count <= left;
        left -= isLess ? count : 0;
        return isLess;
    });
}

/// True if a row that was read can be that of the tensor.
bool fits(const RowRecord& record, const TensorInfo& tensor) {
    const TensorAnalysis& r = record.row;
    const std::uint64_t all = tensor.elements;
    const auto isCount = [&](std::uint64_t count) { return count <= all; };
    const bool isOfTensor = r.tensor == tensor.name && r.dtype == tensor.dtype &&
                            std::ranges::equal(r.shape, TensorShape(tensor.shape).sizes()) && r.elements == all;
    const bool areSums = r.sums.n >= 0 && r.sums.n <= double(all) && isCount(r.sums.clipped) && isCount(r.sums.zeros) &&
                         isCount(r.sums.signFlips) && isCount(r.nan) && isCount(r.inf);
    const bool areCodes = (r.codeCounts.empty() || r.codeCounts.size() == r.levels.size()) &&
                          std::ranges::all_of(r.codeCounts, isCount) &&
                          std::ranges::all_of(r.levels, [](float level) { return std::isfinite(level); });
    const bool areFigures = areFinite({r.bpw, r.seconds}) && r.bpw >= 0 && r.seconds >= 0;
    const auto& d = record.distribution;
    return isOfTensor && areSums && areCodes && areFigures && (!r.statistics || fits(*r.statistics, all)) &&
           (!d || (fits(d->error, all) && fits(d->value, all)));
}

} // namespace

Result<std::optional<TensorAnalysis>> unitOfAnalysis(UnitRun* units, const Model& model, const TensorInfo& tensor,
                                                     const QuantSpec& spec, const OutputEffects* effects,
                                                     const Job& job,
                                                     const std::function<Result<TensorAnalysis>()>& compute) {
    if (!units) {
        auto row = compute();
        if (!row) return tl::unexpected(row.error());
        return std::optional(std::move(*row));
    }
    const auto key = [&]() -> Result<std::string> {
        const auto hash = hashOfFilesWith(model, tensor, job);
        if (!hash) return hash;
        return fmt::format("{}\n{}\n{}", *hash, tensor.name, canonicalText(spec));
    };
    const std::string name = fmt::format("{} as {}", escapeForPeople(tensor.name, 60), specText(spec));
    auto record = units->unit<RowRecord>(
        key, name, double(tensor.bytes),
        [&]() -> Result<RowRecord> {
            auto row = compute();
            if (!row) return tl::unexpected(row.error());
            RowRecord out{std::move(*row), {}};
            if (out.row.distribution) out.distribution = *out.row.distribution;
            return out;
        },
        [&](const RowRecord& read) { return fits(read, tensor); });
    if (!record) return tl::unexpected(record.error());
    if (!*record) return std::nullopt;
    TensorAnalysis row = std::move((*record)->row);
    if (const auto& found = (*record)->distribution) row.distribution = std::make_shared<Distribution>(*found);
    row.spec = spec;
    row.onOutput = effects ? effects->of(tensor.name, spec) : nullptr;
    return std::optional(std::move(row));
}

} // namespace qs
