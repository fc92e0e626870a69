// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/diff_compare.h"

#include "core/base/parallel.h"
#include "core/quant/pass.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace qs {
namespace {

constexpr std::int64_t kSampledRows = 24;
constexpr std::int64_t kBand = std::int64_t(1) << 18;       ///< elements that one worker holds of each
constexpr std::int64_t kTransposed = std::int64_t(1) << 20; ///< of transposed ones: longer pieces of their rows
constexpr std::int64_t kHeads[] = {128, 64, 32, 96, 80,  256, 8,   16,  24,  40,
                                   48,  56, 72, 88, 104, 112, 120, 160, 192, 512};

struct Sums {
    double error = 0, a = 0, b = 0, product = 0, most = 0;
    std::uint64_t differing = 0, nonFinite = 0;

    void add(const float* x, const float* y, std::size_t n) {
        for (std::size_t i = 0; i < n; ++i) {
            const double v = double(x[i]), w = double(y[i]), e = w - v;
            if (!std::isfinite(e)) {
                const bool same = x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]));
                differing += !same, nonFinite += !same;
                continue;
            }
            error += e * e, a += v * v, b += w * w, product += v * w;
            most = std::max(most, std::fabs(e));
            differing += x[i] != y[i];
        }
    }
    void merge(const Sums& other) {
        error += other.error, a += other.a, b += other.b, product += other.product;
        most = std::max(most, other.most);
        differing += other.differing, nonFinite += other.nonFinite;
    }
};

/// `count` rows from `first` on of what lies at the placement, row by row.
void loadPlaced(const TensorView& whole, std::int64_t stored, const Placement& placement, std::int64_t first,
                std::int64_t count, std::int64_t columns, std::vector<float>& scratch, float* out) {
    if (!placement.transposed && placement.rows == Placement::Rows::InOrder && stored == columns)
        return loadF32(whole, std::uint64_t((placement.offset + first) * stored), std::size_t(count * columns), out);
    if (!placement.transposed) {
        for (std::int64_t r = 0; r < count; ++r)
            loadF32(whole, std::uint64_t(placement.rowOf(first + r) * stored), std::size_t(columns), out + r * columns);
        return;
    }
    scratch.resize(std::size_t(count));
    for (std::int64_t c = 0; c < columns; ++c) {
        loadF32(whole, std::uint64_t(c * stored + placement.offset + first), std::size_t(count), scratch.data());
        for (std::int64_t r = 0; r < count; ++r) out[r * columns + c] = scratch[std::size_t(r)];
    }
}

/// The placement stays within the tensor.
bool fits(const Matrix& part, const Matrix& whole, const Placement& placement) {
    const std::int64_t rows = placement.transposed ? whole.columns : whole.rows;
    const std::int64_t columns = placement.transposed ? whole.rows : whole.columns;
    if (columns != part.columns || part.rows == 0) return false;
    if (placement.transposed && placement.rows != Placement::Rows::InOrder) return false;
    if (placement.head > 0 && part.rows % placement.head != 0) return false;
    return placement.rowOf(part.rows - 1) < rows && placement.offset + part.rows <= rows;
}

} // namespace

Matrix::Matrix(const TensorInfo& tensor)
    : rows(std::int64_t(tensor.elements)), columns(tensor.shape.size() < 2 ? 1 : tensor.lastAxis()) {
    rows = columns ? rows / columns : 0;
}

std::int64_t Placement::rowOf(std::int64_t row) const {
    const std::int64_t in = head > 0 ? row % head : 0, first = row - in, half = head / 2;
    switch (rows) {
    case Rows::InOrder: return offset + row;
    case Rows::HalvesToPairs: return offset + first + in % half * 2 + in / half;
    case Rows::PairsToHalves: return offset + first + in % 2 * half + in / 2;
    case Rows::HeadByHead: return first * 3 + offset + in;
    }
    return row;
}

double sampledNmse(const Pairing& pairing, const Placement& placement) {
    const Matrix part(*pairing.part), whole(*pairing.whole);
    if (!fits(part, whole, placement)) return std::nan("");
    const auto p = pairing.partModel->view(*pairing.part), w = pairing.wholeModel->view(*pairing.whole);
    if (!p || !w) return std::nan("");
    // Long rows are told apart by their beginning.
    const std::int64_t columns = std::min<std::int64_t>(part.columns, 4096);
    std::vector<float> x(std::size_t(columns), 0.0f), y = x, scratch;
    Sums sums;
    for (std::int64_t i = 0; i < std::min(kSampledRows, part.rows); ++i) {
        const std::int64_t row = i * part.rows / std::min(kSampledRows, part.rows);
        loadF32(*p, std::uint64_t(row * part.columns), std::size_t(columns), x.data());
        loadPlaced(*w, whole.columns, placement, row, 1, columns, scratch, y.data());
        sums.add(x.data(), y.data(), std::size_t(columns));
    }
    return sums.a > 0 ? sums.error / sums.a : sums.error > 0 ? INFINITY : 0.0;
}

std::optional<BestPlacement> bestPlacement(const Pairing& pairing, bool attention, std::int64_t offset,
                                           std::int64_t index, std::int64_t parts) {
    using Rows = Placement::Rows;
    const Matrix part(*pairing.part);
    std::vector<Placement> tried = {{false, Rows::InOrder, 0, offset}, {true, Rows::InOrder, 0, offset}};
    if (attention)
        for (const std::int64_t head : kHeads)
            if (part.rows % head == 0) {
                if (index < 2) tried.push_back({false, Rows::HalvesToPairs, head, offset});
                if (index < 2) tried.push_back({false, Rows::PairsToHalves, head, offset});
                if (parts == 3) tried.push_back({false, Rows::HeadByHead, head, index * head});
            }
    std::optional<BestPlacement> best;
    for (const Placement& placement : tried) {
        const double nmse = sampledNmse(pairing, placement);
        if (!std::isnan(nmse) && (!best || nmse < best->nmse)) best = BestPlacement{placement, nmse};
        if (best && best->nmse == 0) break;
    }
    // A few rows of a transposed tensor lie on all of its pages.
    releasePages(*pairing.partModel, *pairing.part);
    releasePages(*pairing.wholeModel, *pairing.whole);
    return best;
}

Result<void> compareAll(const Pairing& pairing, const Placement& placement, const Job& job, DiffRow& row) {
    const auto p = pairing.partModel->view(*pairing.part), w = pairing.wholeModel->view(*pairing.whole);
    if (!p) return tl::unexpected(p.error());
    if (!w) return tl::unexpected(w.error());
    const TensorView part = forScan(*p), whole = forScan(*w);
    const Matrix matrix(*pairing.part), stored(*pairing.whole);
    const std::int64_t most = placement.transposed ? kTransposed : kBand;
    const std::int64_t band = std::max<std::int64_t>(1, most / std::max<std::int64_t>(1, matrix.columns));
    const auto bands = std::size_t((matrix.rows + band - 1) / band);
    struct Worker {
        Sums sums;
        std::vector<float> x, y, scratch;
    };
    std::vector<Worker> workers(workerCount());
    parallelFor(bands, 1, [&](std::size_t first, std::size_t last, unsigned id) {
        Worker& own = workers[id];
        for (std::size_t i = first; i < last && !job.cancelled(); ++i) {
            const std::int64_t at = std::int64_t(i) * band, rows = std::min(band, matrix.rows - at);
            const auto n = std::size_t(rows * matrix.columns);
            if (own.x.size() < n) own.x.resize(n), own.y.resize(n);
            loadF32(part, std::uint64_t(at * matrix.columns), n, own.x.data());
            loadPlaced(whole, stored.columns, placement, at, rows, matrix.columns, own.scratch, own.y.data());
            const float *a = own.x.data(), *b = own.y.data();
            if (!pairing.partIsA) std::swap(a, b);
            own.sums.add(a, b, n);
        }
    });
    if (job.cancelled()) return cancelledError();
    for (const auto& [model, tensor] :
         {std::pair(pairing.partModel, pairing.part), {pairing.wholeModel, pairing.whole}}) {
        releasePages(*model, *tensor);
        if (auto same = model->unchanged(*tensor); !same) return same;
    }
    Sums all;
    for (const Worker& worker : workers) all.merge(worker.sums);
    row.elements = pairing.part->elements;
    row.differing = all.differing, row.nonFinite = all.nonFinite;
    row.errorPower = all.error, row.power = all.a, row.otherPower = all.b, row.product = all.product;
    row.maxAbs = all.most;
    row.status = all.differing ? DiffStatus::Different : DiffStatus::Equal;
    return {};
}

} // namespace qs
