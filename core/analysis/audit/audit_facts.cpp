// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/audit/audit_facts.h"

#include "core/base/parallel.h"
#include "core/model/gguf/packed_type.h"
#include "core/quant/encode/pass.h"
#include "kernels/small_float.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <xxhash.h>

namespace qs {
namespace {

constexpr std::size_t kFactsBand = 65536; ///< elements that a worker reads at a time
constexpr std::size_t kFewRows = 64, kRowLength = 4096;
constexpr std::int64_t kMostColumns = 1 << 22; ///< above, constant columns are not looked for
// Limits for profiles: most columns (also most rows with an RMS), and most rows sampled for the RMS of columns.
constexpr std::int64_t kProfileColumns = 32768, kProfileRows = 2048;

/// Adds the hash of one piece at offset `place`. A sum does not depend on the order in which workers hash the pieces.
void hashInto(std::array<std::uint64_t, 2>& hash, const void* bytes, std::size_t n, std::uint64_t place) {
    const XXH128_hash_t piece = XXH3_128bits_withSeed(bytes, n, place);
    hash[0] += piece.low64, hash[1] += piece.high64;
}

/// The value that the bits have as the other 16-bit float.
float other(float x, DType labelled) {
    return labelled == DType::F16 ? bf16ToF32(f32ToF16(x)) : f16ToF32(f32ToBf16(x));
}

/// The facts that one worker collected.
struct Part {
    std::vector<float> values, low, high;
    std::vector<double> squares;
    std::uint64_t nan = 0, inf = 0, profileRows = 0;
    std::int64_t firstBad = -1;
    float least = INFINITY, most = -INFINITY;
    std::array<std::uint64_t, 2> hash{};
    /// Complete lists, because the first indices are needed after the merge.
    std::vector<std::int64_t> zeroRows, equalRows;
};

class Gather {
public:
    Gather(const TensorView& view, TensorFacts& facts) : view_(view), facts_(facts), parts_(workerCount()) {
        const TensorInfo& tensor = *view.info;
        columns_ = tensor.lastAxis();
        // A convolution kernel: the first axis is the rows.
        if (columns_ < 16 && tensor.shape.size() > 2 && tensor.shape[0] > 0)
            columns_ = std::int64_t(tensor.elements) / tensor.shape[0];
        rows_ = columns_ ? std::int64_t(tensor.elements) / columns_ : 0;
        matrix_ = tensor.shape.size() >= 2 && rows_ > 0 && columns_ > 0;
        hasColumns_ = matrix_ && rows_ > 1 && columns_ <= kMostColumns;
        facts.rows = matrix_ ? rows_ : 0, facts.columns = matrix_ ? columns_ : 0;
        facts.hasValues = true;
        if (matrix_ && rows_ <= kProfileColumns) facts.rowRms.assign(std::size_t(rows_), 0);
        if (tensor.derived && !facts.rowRms.empty()) facts.rowMost.assign(std::size_t(rows_), 0);
        isVector_ = tensor.shape.size() == 1 && columns_ <= kProfileColumns;
        if (isVector_) facts.columnRms.assign(std::size_t(columns_), 0);
        sampleStep_ = std::max<std::int64_t>(1, rows_ / std::int64_t(kFewRows));
        profileStep_ = std::max<std::int64_t>(1, rows_ / kProfileRows);
    }

    Result<void> run(const Job& job) {
        const auto elements = std::size_t(view_.info->elements);
        // A worker gets whole rows, or a part of a row if rows are very long.
        const bool whole = matrix_ && std::size_t(columns_) <= kFactsBand * 16;
        const std::size_t unit =
            whole ? std::max<std::size_t>(1, kFactsBand / std::size_t(columns_)) * std::size_t(columns_) : kFactsBand;
        const std::size_t units = (elements + unit - 1) / unit;
        parallelFor(units, 1, [&](std::size_t first, std::size_t last, unsigned worker) {
            for (std::size_t i = first; i < last && !job.cancelled(); ++i)
                read(i * unit, std::min(unit, elements - i * unit), whole, parts_[worker]);
        });
        if (job.cancelled()) return cancelledError();
        merge();
        return {};
    }

private:
    void read(std::size_t begin, std::size_t n, bool wholeRows, Part& part) {
        if (part.values.size() < n) part.values.resize(n);
        loadF32(view_, begin, n, part.values.data());
        const float* x = part.values.data();
        hashInto(part.hash, x, n * sizeof(float), begin);
        if (isVector_)
            for (std::size_t i = 0; i < n; ++i) facts_.columnRms[begin + i] = std::fabs(x[i]);
        if (!wholeRows) {
            look(x, n, std::int64_t(begin), part);
            return;
        }
        for (std::size_t at = 0; at < n; at += std::size_t(columns_)) row(x + at, std::int64_t(begin + at), part);
    }

    Moments look(const float* x, std::size_t n, std::int64_t begin, Part& part) {
        const Moments m = bestKernels().moments(x, n);
        part.nan += m.nan, part.inf += m.inf;
        if (m.n > 0) part.least = std::min(part.least, m.min), part.most = std::max(part.most, m.max);
        if (m.nan + m.inf > 0)
            for (std::size_t i = 0; i < n; ++i) {
                if (std::isfinite(x[i])) continue;
                const auto at = begin + std::int64_t(i);
                if (part.firstBad < 0 || at < part.firstBad) part.firstBad = at;
                break;
            }
        return m;
    }

    void row(const float* x, std::int64_t begin, Part& part) {
        const auto n = std::size_t(columns_);
        const Moments m = look(x, n, begin, part);
        const std::int64_t index = begin / columns_;
        if (m.nan + m.inf > 0) return; // a row with NaN or Inf is not used for column facts
        if (!facts_.rowRms.empty()) facts_.rowRms[std::size_t(index)] = float(std::sqrt(m.squares() / m.n));
        if (!facts_.rowMost.empty()) facts_.rowMost[std::size_t(index)] = std::max(std::fabs(m.min), std::fabs(m.max));
        if (m.min == m.max && columns_ > 1) (m.min == 0 ? part.zeroRows : part.equalRows).push_back(index);
        if (hasColumns_) {
            if (part.low.empty()) part.low.assign(n, INFINITY), part.high.assign(n, -INFINITY);
            float *low = part.low.data(), *high = part.high.data();
            for (std::size_t i = 0; i < n; ++i) {
                low[i] = x[i] < low[i] ? x[i] : low[i];
                high[i] = x[i] > high[i] ? x[i] : high[i];
            }
        }
        if (hasColumns_ && columns_ <= kProfileColumns && index % profileStep_ == 0) {
            if (part.squares.empty()) part.squares.assign(n, 0);
            for (std::size_t i = 0; i < n; ++i) part.squares[i] += double(x[i]) * double(x[i]);
            ++part.profileRows;
        }
        if (index % sampleStep_ != 0) return;
        const std::lock_guard guard(lock_);
        if (facts_.sample.size() >= kFewRows) return;
        facts_.sample.emplace_back(x, x + std::min(n, kRowLength));
        order_.push_back(index);
    }

    void merge() {
        Part all;
        std::uint64_t profileRows = 0;
        for (const Part& part : parts_) {
            facts_.nan += part.nan, facts_.inf += part.inf;
            if (part.firstBad >= 0 && (facts_.firstBad < 0 || part.firstBad < facts_.firstBad))
                facts_.firstBad = part.firstBad;
            all.least = std::min(all.least, part.least), all.most = std::max(all.most, part.most);
            for (int i : {0, 1}) facts_.hash[std::size_t(i)] += part.hash[std::size_t(i)];
            all.zeroRows.insert(all.zeroRows.end(), part.zeroRows.begin(), part.zeroRows.end());
            all.equalRows.insert(all.equalRows.end(), part.equalRows.begin(), part.equalRows.end());
            profileRows += part.profileRows;
            widen(all, part);
        }
        if (all.least <= all.most) facts_.low = all.least, facts_.high = all.most;
        for (auto [from, to] : {std::pair(&all.zeroRows, &facts_.zeroRows), {&all.equalRows, &facts_.equalRows}}) {
            std::sort(from->begin(), from->end());
            for (const auto index : *from) to->add(index);
        }
        for (std::size_t i = 0; i < all.low.size(); ++i)
            if (all.low[i] == all.high[i])
                (all.low[i] == 0 ? facts_.zeroColumns : facts_.equalColumns).add(std::int64_t(i));
        for (const double sum : all.squares) facts_.columnRms.push_back(float(std::sqrt(sum / double(profileRows))));
        sortSample();
    }

    static void widen(Part& all, const Part& part) {
        if (all.low.empty()) all.low = part.low, all.high = part.high;
        for (std::size_t i = 0; i < part.low.size(); ++i) {
            all.low[i] = std::min(all.low[i], part.low[i]);
            all.high[i] = std::max(all.high[i], part.high[i]);
        }
        if (all.squares.empty()) all.squares.assign(part.squares.size(), 0);
        for (std::size_t i = 0; i < part.squares.size(); ++i) all.squares[i] += part.squares[i];
    }

    /// Sorts the sampled rows by their index, so that the result does not depend on the timing of the workers.
    void sortSample() {
        auto& rows = facts_.sample;
        std::vector<std::size_t> by(rows.size());
        for (std::size_t i = 0; i < by.size(); ++i) by[i] = i;
        std::ranges::sort(by, [&](std::size_t a, std::size_t b) { return order_[a] < order_[b]; });
        std::vector<std::vector<float>> sorted;
        for (const std::size_t i : by) sorted.push_back(std::move(rows[i]));
        rows = std::move(sorted);
        const DType dtype = view_.info->dtype;
        const bool halves = (dtype == DType::F16 || dtype == DType::BF16) && !view_.info->derived;
        for (const auto& row : rows)
            for (const float x : halves ? std::span<const float>(row) : std::span<const float>()) {
                facts_.asLabelled.add(x);
                facts_.asOther.add(other(x, dtype));
            }
    }

    const TensorView& view_;
    TensorFacts& facts_;
    std::vector<Part> parts_;
    std::int64_t rows_ = 0, columns_ = 0, sampleStep_ = 1, profileStep_ = 1;
    bool matrix_ = false, hasColumns_ = false, isVector_ = false;
    std::mutex lock_;
    std::vector<std::int64_t> order_; ///< row indices of the sample
};

Result<void> hashBytes(const TensorView& view, TensorFacts& facts, const Job& job) {
    constexpr std::size_t piece = std::size_t(1) << 20;
    const auto bytes = std::size_t(view.info->bytes);
    std::mutex lock;
    parallelFor((bytes + piece - 1) / piece, 1, [&](std::size_t first, std::size_t last, unsigned) {
        std::vector<std::byte> scratch;
        for (std::size_t i = first; i < last && !job.cancelled(); ++i) {
            const auto part = view.read(i * piece, std::min(piece, bytes - i * piece), scratch);
            std::array<std::uint64_t, 2> hash{};
            hashInto(hash, part.data(), part.size(), i * piece);
            const std::lock_guard guard(lock);
            facts.hash[0] += hash[0], facts.hash[1] += hash[1];
        }
    });
    return job.cancelled() ? Result<void>(cancelledError()) : Result<void>();
}

} // namespace

void Channels::add(std::int64_t index) {
    ++count;
    if (first.size() < 8) first.push_back(index);
}

void LogSpread::add(float x) {
    if (x == 0 || !std::isfinite(x)) return;
    const double log = double(std::log2(std::fabs(x)));
    n += 1, s1 += log, s2 += log * log;
}

double LogSpread::std() const { return n > 0 ? std::sqrt(std::max(0.0, s2 / n - (s1 / n) * (s1 / n))) : 0; }

Result<TensorFacts> gatherFacts(const Model& model, const TensorInfo& tensor, const Job& job) {
    TensorFacts facts;
    facts.info = &tensor;
    const auto opened = model.view(tensor);
    if (!opened) return tl::unexpected(opened.error());
    const TensorView view = forScan(*opened);
    const bool values = checkQuantizable(tensor).has_value();
    const auto done = values ? Gather(view, facts).run(job) : hashBytes(view, facts, job);
    if (!done) return tl::unexpected(done.error());
    releasePages(model, tensor);
    if (auto same = model.unchanged(tensor); !same) return tl::unexpected(same.error());
    return facts;
}

} // namespace qs
