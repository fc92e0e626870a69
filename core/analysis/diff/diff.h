// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Compares two checkpoints tensor by tensor. It aligns names of different ecosystems, splits fused tensors, and undoes
// transposes and permutations. Then it compares every value.

#include "core/analysis/diff/diff_names.h"
#include "core/base/column.h"
#include "core/base/job.h"
#include "core/report/report.h"

#include <array>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

namespace qs {

/// How the rows of one tensor are arranged inside another one.
struct Placement {
    enum class Rows {
        InOrder,
        HalvesToPairs, ///< llama.cpp's order of q and k: rows j and j + d/2 of a head of d rows become neighbours
        PairsToHalves, ///< the reverse
        HeadByHead,    ///< fused q, k and v, grouped by head: q, k, v of the first head, then of the second
        EverySecond,   ///< of gate and up in turns, as in gpt-oss: `offset` is 0 for the gate, 1 for up
        HalvesInTurns, ///< gate and then up, whose rows are in turns there; `head`: all rows
        TurnsInHalves  ///< the reverse
    };
    bool transposed = false;
    Rows rows = Rows::InOrder;
    std::int64_t head = 0;   ///< rows per head; 0 if heads do not matter
    std::int64_t offset = 0; ///< first row of the part; for HeadByHead: index of the part times `head`
    bool rowsPermuted = false, columnsPermuted = false; ///< in an order that is not one of the above
    bool permuted() const { return rowsPermuted || columnsPermuted; }
    /// Row of the larger tensor that holds row `row` of the part.
    std::int64_t rowOf(std::int64_t row) const;
};
/// For example "transposed, rows 256 on"; "" if there is nothing to say.
std::string placementText(const Placement& placement);

/// Refused: the tensors could not be compared.
enum class DiffStatus { Equal, Different, OnlyA, OnlyB, Refused };
const char* diffStatusId(DiffStatus status); ///< "equal", "different", "only_a", "only_b" or "refused"

/// The comparison of one pair of tensors. A or B is null if it has no partner.
struct DiffRow {
    const TensorInfo* a = nullptr; ///< null: the tensor is only in B
    const TensorInfo* b = nullptr;
    DiffStatus status = DiffStatus::Refused;
    std::string aligned; ///< how the pair was found: "name", "canonical name", "part of" or "values"
    Placement placement; ///< of the smaller tensor in the larger one
    bool inA = false;    ///< true: `placement` is that of B in A: A is fused and B a part of it, or all of it in turns
    /// `nonFinite`: values that differ because one of them is NaN or Inf; `nonFiniteInB`: those that are in B.
    /// `nonFiniteEqual`: NaN and Inf with equal bits.
    std::uint64_t elements = 0, differing = 0, nonFinite = 0, nonFiniteInB = 0, nonFiniteEqual = 0;
    std::uint64_t zeroSigns = 0; ///< zeros of another sign in the other: other bits, but equal, so not in `differing`
    /// False: the sums below leave values out, and no figure is made of them.
    bool isWhole() const { return nonFinite + nonFiniteEqual == 0; }
    /// Sums over all finite pairs: (B - A)^2, A^2, B^2 and A B. Then the largest |B - A|.
    double errorPower = 0, power = 0, otherPower = 0, product = 0;
    double maxAbs = 0;
    std::string reason;                   ///< why some figures are missing; "" if none is
    std::optional<double> nmse() const;   ///< ||B - A||^2 / ||A||^2
    std::optional<double> sqnrDb() const; ///< in dB; empty if nothing differs
    std::optional<double> cosine() const; ///< of A and B as vectors
};

struct DiffResult {
    std::vector<DiffRow> rows;              ///< in the order of A, then the tensors that are only in B
    std::size_t equalLeftOut = 0;           ///< number of rows that keepChanged() removed
    std::size_t equalButSigns = 0;          ///< number of equal rows in which zeros have other signs
    std::array<std::size_t, 5> handedOut{}; ///< number of rows given to onRow, by status
    std::uint64_t bytes = 0;                ///< read from both models
    double seconds = 0;
    std::size_t handedOutRows() const { return std::accumulate(handedOut.begin(), handedOut.end(), std::size_t(0)); }
    std::size_t count(DiffStatus status) const;
};

struct DiffPlan {
    std::shared_ptr<const Model> a, b; ///< the two models
    std::string tensorRegex = {};      ///< Perl-style expression that is searched in names of A or B; "": all tensors
};
/// A plan in which the two models have experts in the same form: a tensor with the matrices of several experts that the
/// other model does not have under its name is a list of matrices, NAME[0], NAME[1], ....
DiffPlan diffPlan(std::shared_ptr<const Model> a, std::shared_ptr<const Model> b, std::string tensorRegex = {});

/// Receives each row when it is done. The order is that of A. Exceptions are rows that are found by values or as parts
/// of later tensors; rows that are only in B come last.
using OnDiffRow = std::function<Result<void>(const DiffRow&)>;
/// Compares the models with bounded memory (with `onRow`, rows are not kept either). Fails if the job is cancelled, if
/// a file changed, if the filter is invalid, or if it selects no tensor.
Result<DiffResult> diffModels(const DiffPlan& plan, const Job& job, const OnDiffRow& onRow = {});
/// True unless the tensors are equal in the same order of rows and columns, the signs of zeros included.
bool isChanged(const DiffRow& row);
/// Removes the rows for which isChanged() is false, and counts them in equalLeftOut.
void keepChanged(DiffResult& result);

const Columns<DiffRow>& diffColumns();
/// A summary: "36 equal, 2 different, 1 only in A".
std::string diffText(const DiffResult& result);
Result<Report> diffReport(const DiffPlan& plan, const DiffResult& result, const std::string& commandLine,
                          const Job& job = {});

} // namespace qs
