// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/diff/diff_permuted.h"

#include "core/base/parallel.h"
#include "core/quant/encode/pass.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <numeric>

namespace qs {
namespace {

/// The most rows or columns that a permutation is looked for in. Each of them takes memory, columns in each worker.
constexpr std::int64_t kMostPermuted = std::int64_t(1) << 21;
constexpr std::int64_t kPermutedBand = std::int64_t(1) << 16; ///< elements that a worker holds at a time

/// Hash of a value's bits; 0 and -0 have the same hash.
std::uint64_t mixedBits(float value) {
    const float one = value + 0.0f;
    std::uint32_t bits = 0;
    std::memcpy(&bits, &one, sizeof bits);
    std::uint64_t z = bits + 0x9e3779b97f4a7c15u; // function splitmix64
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/// For each row and column, the sum of the hashes of its values. It does not depend on the order of the values.
struct Signatures {
    std::vector<std::uint64_t> rows, columns;
};

Signatures signaturesOf(const TensorView& view, const Matrix& matrix, const Job& job) {
    Signatures out;
    out.rows.assign(std::size_t(matrix.rows), 0);
    const std::int64_t band = std::max<std::int64_t>(1, kPermutedBand / matrix.columns);
    std::vector<std::vector<std::uint64_t>> columns(workerCount());
    std::vector<std::vector<float>> rooms(workerCount());
    parallelFor(std::size_t((matrix.rows + band - 1) / band), 1, [&](std::size_t first, std::size_t last, unsigned id) {
        columns[id].resize(std::size_t(matrix.columns));
        for (std::size_t i = first; i < last && !job.cancelled(); ++i) {
            const std::int64_t at = std::int64_t(i) * band, rows = std::min(band, matrix.rows - at);
            const auto n = std::size_t(rows * matrix.columns);
            rooms[id].resize(n);
            loadF32(view, std::uint64_t(at * matrix.columns), n, rooms[id].data());
            const float* x = rooms[id].data();
            for (std::int64_t r = 0; r < rows; ++r)
                for (std::int64_t c = 0; c < matrix.columns; ++c, ++x) {
                    const std::uint64_t one = mixedBits(*x);
                    out.rows[std::size_t(at + r)] += one;
                    columns[id][std::size_t(c)] += one;
                }
        }
    });
    out.columns.assign(std::size_t(matrix.columns), 0);
    for (const auto& each : columns)
        for (std::size_t c = 0; c < each.size(); ++c) out.columns[c] += each[c];
    return out;
}

/// For each element of `a`, its position in `b`. Empty if the two lists do not contain the same elements.
std::vector<std::size_t> placesOf(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b) {
    std::vector<std::size_t> places(a.size());
    std::iota(places.begin(), places.end(), std::size_t(0));
    if (a == b) return places;
    std::vector<std::size_t> ofA = places, ofB = places;
    const auto sort = [](std::vector<std::size_t>& order, const std::vector<std::uint64_t>& by) {
        std::ranges::stable_sort(order, [&](std::size_t x, std::size_t y) { return by[x] < by[y]; });
    };
    sort(ofA, a);
    sort(ofB, b);
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (a[ofA[i]] != b[ofB[i]]) return {};
        places[ofA[i]] = ofB[i];
    }
    return places;
}

/// True if a[r][c] equals b[rows[r]][columns[c]] for all values. Counts zeros whose signs differ.
bool equalUnder(const TensorView& a, const TensorView& b, const Matrix& matrix, const std::vector<std::size_t>& rows,
                const std::vector<std::size_t>& columns, const Job& job, std::uint64_t& zeroSigns) {
    std::atomic<bool> same{true};
    std::atomic<std::uint64_t> signs{0};
    std::vector<std::vector<float>> rooms(workerCount());
    const auto n = std::size_t(matrix.columns);
    parallelFor(rows.size(), 64, [&](std::size_t first, std::size_t last, unsigned id) {
        rooms[id].resize(2 * n);
        float *const x = rooms[id].data(), *const y = x + n;
        for (std::size_t r = first; r < last && same && !job.cancelled(); ++r) {
            loadF32(a, std::uint64_t(r * n), n, x);
            loadF32(b, std::uint64_t(rows[r] * n), n, y);
            std::uint64_t other = 0;
            for (std::size_t c = 0; c < n; ++c) {
                if (x[c] != y[columns[c]]) same = false;
                other += std::signbit(x[c]) != std::signbit(y[columns[c]]);
            }
            signs += other;
        }
    });
    zeroSigns = signs;
    return same;
}

bool inOrder(const std::vector<std::size_t>& places) { return std::ranges::is_sorted(places); }

} // namespace

Result<std::optional<Permuted>> findPermutation(const Pairing& pairing, const Job& job) {
    const Matrix matrix(*pairing.part);
    if (pairing.part->shape != pairing.whole->shape || matrix.rows * matrix.columns < 2 ||
        std::max(matrix.rows, matrix.columns) > kMostPermuted)
        return std::optional<Permuted>();
    const auto p = pairing.partModel->view(*pairing.part), w = pairing.wholeModel->view(*pairing.whole);
    if (!p) return tl::unexpected(p.error());
    if (!w) return tl::unexpected(w.error());
    const TensorView part = forScan(*p), whole = forScan(*w);
    const Signatures a = signaturesOf(part, matrix, job), b = signaturesOf(whole, matrix, job);
    const auto rows = placesOf(a.rows, b.rows), columns = placesOf(a.columns, b.columns);
    std::uint64_t zeroSigns = 0;
    const bool found =
        !rows.empty() && !columns.empty() && equalUnder(part, whole, matrix, rows, columns, job, zeroSigns);
    releasePages(*pairing.partModel, *pairing.part);
    releasePages(*pairing.wholeModel, *pairing.whole);
    if (job.cancelled()) return cancelledError();
    for (const auto& [model, tensor] :
         {std::pair(pairing.partModel, pairing.part), {pairing.wholeModel, pairing.whole}})
        if (auto same = model->unchanged(*tensor); !same) return tl::unexpected(same.error());
    if (!found) return std::optional<Permuted>();
    return std::optional(Permuted{!inOrder(rows), !inOrder(columns), zeroSigns});
}

} // namespace qs
