// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/diff/diff_compare.h"

#include "core/base/parallel.h"
#include "core/model/mapped_file.h"
#include "core/quant/encode/pass.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <fmt/format.h>

namespace qs {
namespace {

constexpr std::int64_t kSampledRows = 24, kSampledColumns = 4096;
constexpr std::int64_t kBand = std::int64_t(1) << 18; ///< elements of each tensor that a worker holds
constexpr std::int64_t kTile = 1024; ///< rows and columns of a transposed tile, if the matrix has so many
constexpr std::int64_t kTileElements = kTile * kTile, kStrip = 16;
constexpr std::size_t kLanes = 8; ///< independent sums, so that additions can run in parallel
// Head sizes that are tried.
constexpr std::int64_t kHeads[] = {128, 64, 32, 96, 80,  256, 8,   16,  24,  40,
                                   48,  56, 72, 88, 104, 112, 120, 160, 192, 512};

struct Sums {
    double error = 0, a = 0, b = 0, product = 0, most = 0;
    std::uint64_t differing = 0, nonFinite = 0, nonFiniteInB = 0, nonFiniteEqual = 0, zeroSigns = 0;

    void add(const float* x, const float* y, std::size_t n) {
        double errors[kLanes] = {}, as[kLanes] = {}, bs[kLanes] = {}, products[kLanes] = {}, mosts[kLanes] = {};
        std::size_t i = 0;
        for (; i + kLanes <= n; i += kLanes) {
            if (!allFinite(x + i) || !allFinite(y + i)) {
                for (std::size_t lane = 0; lane < kLanes; ++lane) addOne(x[i + lane], y[i + lane]);
                continue;
            }
            unsigned differ = 0, signs = 0;
            for (std::size_t lane = 0; lane < kLanes; ++lane) {
                const double v = double(x[i + lane]), w = double(y[i + lane]), e = w - v, size = std::fabs(e);
                errors[lane] += e * e, as[lane] += v * v, bs[lane] += w * w, products[lane] += v * w;
                mosts[lane] = mosts[lane] < size ? size : mosts[lane];
                differ += x[i + lane] != y[i + lane];
                signs += haveOtherSigns(x[i + lane], y[i + lane]);
            }
            differing += differ, zeroSigns += signs;
        }
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
            error += errors[lane], a += as[lane], b += bs[lane], product += products[lane];
            most = std::max(most, mosts[lane]);
        }
        for (; i < n; ++i) addOne(x[i], y[i]);
    }
    void merge(const Sums& other) {
        error += other.error, a += other.a, b += other.b, product += other.product;
        most = std::max(most, other.most);
        differing += other.differing, nonFinite += other.nonFinite;
        nonFiniteInB += other.nonFiniteInB, nonFiniteEqual += other.nonFiniteEqual;
        zeroSigns += other.zeroSigns;
    }

private:
    static bool allFinite(const float* x) {
        std::uint32_t bits[kLanes], special = 0;
        std::memcpy(bits, x, sizeof bits);
        for (const std::uint32_t word : bits) special |= (word & 0x7f800000u) == 0x7f800000u;
        return special == 0;
    }
    void addOne(float x, float y) {
        const double v = double(x), w = double(y), e = w - v;
        if (!std::isfinite(e)) {
            const bool same = std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y);
            differing += !same, nonFinite += !same;
            nonFiniteInB += !same && !std::isfinite(y), nonFiniteEqual += same;
            return;
        }
        error += e * e, a += v * v, b += w * w, product += v * w;
        most = std::max(most, std::fabs(e));
        differing += x != y, zeroSigns += haveOtherSigns(x, y);
    }
    /// Of equal numbers the bits differ in the sign of zeros only.
    static bool haveOtherSigns(float x, float y) {
        return x == y && std::bit_cast<std::uint32_t>(x) != std::bit_cast<std::uint32_t>(y);
    }
};

/// Loads columns [left, left + columns) of rows [first, first + count) of the part from where they are in `whole`, row by
/// row. `stored`: columns of `whole`. `left` is 0 in a transposed tensor.
void loadPlaced(const TensorView& whole, std::int64_t stored, const Placement& placement, std::int64_t first,
                std::int64_t count, std::int64_t left, std::int64_t columns, std::vector<float>& scratch, float* out) {
    if (!placement.transposed && placement.rows == Placement::Rows::InOrder && stored == columns)
        return loadF32(whole, std::uint64_t((placement.offset + first) * stored), std::size_t(count * columns), out);
    if (!placement.transposed) {
        for (std::int64_t r = 0; r < count; ++r)
            loadF32(whole, std::uint64_t(placement.rowOf(first + r) * stored + left), std::size_t(columns),
                    out + r * columns);
        return;
    }
    std::int64_t low = placement.rowOf(first), high = low;
    for (std::int64_t r = 1; r < count; ++r) {
        const std::int64_t at = placement.rowOf(first + r);
        low = std::min(low, at), high = std::max(high, at);
    }
    scratch.resize(std::size_t(high - low + 1));
    for (std::int64_t c = 0; c < columns; ++c) {
        loadF32(whole, std::uint64_t(c * stored + low), scratch.size(), scratch.data());
        for (std::int64_t r = 0; r < count; ++r)
            out[r * columns + c] = scratch[std::size_t(placement.rowOf(first + r) - low)];
    }
}

/// True if the placement stays inside the tensor.
bool fits(const Matrix& part, const Matrix& whole, const Placement& placement) {
    const std::int64_t rows = placement.transposed ? whole.columns : whole.rows;
    const std::int64_t columns = placement.transposed ? whole.rows : whole.columns;
    if (columns != part.columns || part.rows == 0) return false;
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
    case Rows::HalvesToPairs:
    case Rows::HalvesInTurns: return offset + first + in % half * 2 + in / half;
    case Rows::PairsToHalves:
    case Rows::TurnsInHalves: return offset + first + in % 2 * half + in / 2;
    case Rows::HeadByHead: return first * 3 + offset + in;
    case Rows::EverySecond: return row * 2 + offset;
    }
    return row;
}

double sampledNmse(const Pairing& pairing, const Placement& placement) {
    const Matrix part(*pairing.part), whole(*pairing.whole);
    if (!fits(part, whole, placement)) return std::nan("");
    const auto p = pairing.partModel->view(*pairing.part), w = pairing.wholeModel->view(*pairing.whole);
    if (!p || !w) return std::nan("");
    // The first columns of long rows are enough. In a transposed tensor each value is on its own page, so fewer are
    // read.
    const std::int64_t columns = std::min(part.columns, placement.transposed ? kSampledColumns / 8 : kSampledColumns);
    std::vector<float> x(std::size_t(columns), 0.0f), y = x, scratch;
    Sums sums;
    for (std::int64_t i = 0; i < std::min(kSampledRows, part.rows); ++i) {
        const std::int64_t row = i * part.rows / std::min(kSampledRows, part.rows);
        loadF32(*p, std::uint64_t(row * part.columns), std::size_t(columns), x.data());
        loadPlaced(*w, whole.columns, placement, row, 1, 0, columns, scratch, y.data());
        sums.add(x.data(), y.data(), std::size_t(columns));
    }
    return sums.a > 0 ? sums.error / sums.a : sums.error > 0 ? INFINITY : 0.0;
}

std::optional<BestPlacement> bestPlacement(const Pairing& pairing, RowOrders orders, std::int64_t offset,
                                           std::int64_t index, std::int64_t parts) {
    using Rows = Placement::Rows;
    const Matrix part(*pairing.part);
    std::vector<Placement> tried = {{false, Rows::InOrder, 0, offset}, {true, Rows::InOrder, 0, offset}};
    if (orders == RowOrders::Heads)
        for (const std::int64_t head : kHeads)
            if (part.rows % head == 0) {
                if (index < 2) tried.push_back({false, Rows::HalvesToPairs, head, offset});
                if (index < 2) tried.push_back({false, Rows::PairsToHalves, head, offset});
                if (parts == 3) tried.push_back({false, Rows::HeadByHead, head, index * head});
            }
    if (orders == RowOrders::GateAndUp)
        for (const bool transposed : {false, true}) {
            if (parts == 2) tried.push_back({transposed, Rows::EverySecond, 0, index});
            if (parts == 1 && part.rows % 2 == 0) {
                tried.push_back({transposed, Rows::HalvesInTurns, part.rows, 0});
                tried.push_back({transposed, Rows::TurnsInHalves, part.rows, 0});
            }
        }
    std::optional<BestPlacement> best;
    for (const Placement& placement : tried) {
        const double nmse = sampledNmse(pairing, placement);
        if (!std::isnan(nmse) && (!best || nmse < best->nmse)) best = BestPlacement{placement, nmse};
        if (best && best->nmse == 0) break;
    }
    // The rows that were read from a transposed tensor are on all of its pages, so free them.
    releasePages(*pairing.partModel, *pairing.part);
    releasePages(*pairing.wholeModel, *pairing.whole);
    return best;
}

namespace {

/// Buffers of one worker.
struct Room {
    std::vector<float> x, y, scratch;
};

/// Compares bands of rows of the part with the same rows at the placement. A row that is longer than a band is cut: its
/// length is that of the file, and memory must not be.
class Bands {
public:
    Bands(const TensorView& part, const TensorView& whole, const Placement& placement)
        : part_(part), whole_(whole), placement_(placement), matrix_(*part.info), stored_(*whole.info),
          band_(std::max<std::int64_t>(1, kBand / std::max<std::int64_t>(1, matrix_.columns))),
          wide_(std::min(kBand, std::max<std::int64_t>(1, matrix_.columns))),
          across_((matrix_.columns + wide_ - 1) / wide_) {}
    std::size_t count() const { return std::size_t((matrix_.rows + band_ - 1) / band_ * across_); }

    template<class Add> void compare(std::size_t i, Room& room, const Add& add) const {
        const std::int64_t at = std::int64_t(i) / across_ * band_, left = std::int64_t(i) % across_ * wide_;
        const std::int64_t rows = std::min(band_, matrix_.rows - at), columns = std::min(wide_, matrix_.columns - left);
        const auto n = std::size_t(rows * columns);
        if (room.x.size() < n) room.x.resize(n), room.y.resize(n);
        loadF32(part_, std::uint64_t(at * matrix_.columns + left), n, room.x.data());
        loadPlaced(whole_, stored_.columns, placement_, at, rows, left, columns, room.scratch, room.y.data());
        add(room.x.data(), room.y.data(), n);
    }

private:
    const TensorView &part_, &whole_;
    const Placement& placement_;
    const Matrix matrix_, stored_;
    const std::int64_t band_;          ///< rows of a band
    const std::int64_t wide_, across_; ///< columns of a piece; pieces of a row. `band_` is 1 where there are several
};

/// Compares tiles for a transposed tensor, so that both tensors are read in pieces of rows. The transposed tile is
/// loaded as it is stored. Then strips of rows are transposed within the cache.
class Tiles {
public:
    Tiles(const TensorView& part, const TensorView& whole, const Placement& placement)
        : part_(part), whole_(whole), offset_(placement.offset), matrix_(*part.info), stored_(*whole.info) {
        columns_ = std::min(matrix_.columns, kTile);
        rows_ = std::min(matrix_.rows, std::max(kTile, kTileElements / columns_));
        columns_ = std::min(matrix_.columns, kTileElements / rows_);
        across_ = (matrix_.columns + columns_ - 1) / columns_;
    }
    std::size_t count() const { return std::size_t((matrix_.rows + rows_ - 1) / rows_ * across_); }

    template<class Add> void compare(std::size_t i, Room& room, const Add& add) const {
        const std::int64_t top = std::int64_t(i) / across_ * rows_, left = std::int64_t(i) % across_ * columns_;
        const std::int64_t rows = std::min(rows_, matrix_.rows - top),
                           columns = std::min(columns_, matrix_.columns - left);
        // Rows are padded, because rows at distances of a power of two would evict each other from the cache.
        const bool isWhole = rows == stored_.columns, isWide = columns == matrix_.columns;
        const std::int64_t down = isWhole ? rows : rows + kStrip, apart = columns < 256 ? columns : columns + kStrip;
        room.y.resize(std::size_t(std::max<std::int64_t>(std::int64_t(room.y.size()), columns * down)));
        room.x.resize(std::size_t(std::max<std::int64_t>(std::int64_t(room.x.size()), kStrip * columns)));
        room.scratch.resize(std::size_t(std::max<std::int64_t>(std::int64_t(room.scratch.size()), kStrip * apart)));
        float *const x = room.x.data(), *const y = room.y.data(), *const turned = room.scratch.data();
        if (isWhole)
            loadF32(whole_, std::uint64_t(left * rows), std::size_t(columns * rows), y);
        else
            for (std::int64_t c = 0; c < columns; ++c)
                loadF32(whole_, std::uint64_t((left + c) * stored_.columns + offset_ + top), std::size_t(rows),
                        y + c * down);
        for (std::int64_t strip = 0; strip < rows; strip += kStrip) {
            const std::int64_t high = std::min(kStrip, rows - strip), row = top + strip;
            if (isWide)
                loadF32(part_, std::uint64_t(row * columns), std::size_t(high * columns), x);
            else
                for (std::int64_t r = 0; r < high; ++r)
                    loadF32(part_, std::uint64_t((row + r) * matrix_.columns + left), std::size_t(columns),
                            x + r * columns);
            for (std::int64_t c = 0; c < columns; ++c)
                for (std::int64_t r = 0; r < high; ++r) turned[r * apart + c] = y[c * down + strip + r];
            if (apart == columns)
                add(x, turned, std::size_t(high * columns));
            else
                for (std::int64_t r = 0; r < high; ++r) add(x + r * columns, turned + r * apart, std::size_t(columns));
        }
    }

private:
    const TensorView &part_, &whole_;
    const std::int64_t offset_;
    const Matrix matrix_, stored_;
    std::int64_t rows_ = 1, columns_ = 1, across_ = 1;
};

/// Reads a file that is not mapped once from start to end. Then pieces of its rows come from memory and not from the
/// disk.
void readAhead(const TensorView& view, const Job& job) {
    if (!view.file || view.file->isMapped()) return;
    constexpr std::uint64_t piece = std::uint64_t(4) << 20;
    std::vector<std::vector<std::byte>> scratch(workerCount());
    parallelFor(std::size_t((view.info->bytes + piece - 1) / piece), 1,
                [&](std::size_t first, std::size_t last, unsigned id) {
                    for (std::size_t i = first; i < last && !job.cancelled(); ++i)
                        view.read(i * piece, std::size_t(std::min(piece, view.info->bytes - i * piece)), scratch[id]);
                });
}

/// The sums of pieces are added in their order, so the figures do not depend on the number of cores.
template<class Pieces> Sums sumsOf(const Pieces& pieces, bool partIsA, const Job& job) {
    std::vector<Sums> sums(pieces.count());
    std::vector<Room> rooms(workerCount());
    parallelFor(sums.size(), 1, [&](std::size_t first, std::size_t last, unsigned id) {
        for (std::size_t i = first; i < last && !job.cancelled(); ++i)
            pieces.compare(i, rooms[id], [&](const float* x, const float* y, std::size_t n) {
                sums[i].add(partIsA ? x : y, partIsA ? y : x, n);
            });
    });
    Sums all;
    for (const Sums& each : sums) all.merge(each);
    return all;
}

} // namespace

Result<void> compareAll(const Pairing& pairing, const Placement& placement, const Job& job, DiffRow& row) {
    const auto p = pairing.partModel->view(*pairing.part), w = pairing.wholeModel->view(*pairing.whole);
    if (!p) return tl::unexpected(p.error());
    if (!w) return tl::unexpected(w.error());
    const TensorView part = forScan(*p), whole = forScan(*w);
    if (placement.transposed) readAhead(whole, job);
    const bool isTiled = placement.transposed && placement.rows == Placement::Rows::InOrder;
    const Sums all = isTiled ? sumsOf(Tiles(part, whole, placement), pairing.partIsA, job)
                             : sumsOf(Bands(part, whole, placement), pairing.partIsA, job);
    if (job.cancelled()) return cancelledError();
    for (const auto& [model, tensor] :
         {std::pair(pairing.partModel, pairing.part), {pairing.wholeModel, pairing.whole}}) {
        releasePages(*model, *tensor);
        if (auto same = model->unchanged(*tensor); !same) return same;
    }
    row.elements = pairing.part->elements;
    row.differing = all.differing, row.nonFinite = all.nonFinite;
    row.nonFiniteInB = all.nonFiniteInB, row.nonFiniteEqual = all.nonFiniteEqual;
    row.zeroSigns = all.zeroSigns;
    row.errorPower = all.error, row.power = all.a, row.otherPower = all.b, row.product = all.product;
    row.maxAbs = all.most;
    row.status = all.differing ? DiffStatus::Different : DiffStatus::Equal;
    if (all.nonFinite > 0)
        row.reason = fmt::format("{} values are NaN or Inf in one of them and others there: no error of all values",
                                 all.nonFinite);
    else if (all.nonFiniteEqual > 0)
        row.reason =
            fmt::format("{} values are NaN or Inf, the same in both: no error of all values", all.nonFiniteEqual);
    else if (row.elements > 0 && !(all.a > 0))
        row.reason = "every value of the first is 0: no error relative to them";
    return {};
}

} // namespace qs
