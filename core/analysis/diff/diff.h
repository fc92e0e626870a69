// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Two checkpoints, tensor by tensor: names of different ecosystems are aligned, fused tensors are taken apart, transposed
// and permuted ones put in order, and every value is compared.

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

/// Where the rows of one tensor lie in another one.
struct Placement {
    enum class Rows {
        InOrder,
        HalvesToPairs, ///< llama.cpp's order of q and k: rows j and j + d/2 of a head of d become neighbours
        PairsToHalves, ///< and back
        HeadByHead     ///< fused q, k, v: those of a head after one another
    };
    bool transposed = false;
    Rows rows = Rows::InOrder;
    std::int64_t head = 0;   ///< rows of a head
    std::int64_t offset = 0; ///< first row of the part; of HeadByHead its number, times `head`
    bool rowsPermuted = false, columnsPermuted = false; ///< in an order that no convention has
    bool permuted() const { return rowsPermuted || columnsPermuted; }
    std::int64_t rowOf(std::int64_t row) const;
};
std::string placementText(const Placement& placement); ///< "transposed, rows 256 on"; "" for none

enum class DiffStatus { Equal, Different, OnlyA, OnlyB, Refused };
const char* diffStatusId(DiffStatus status); ///< "equal"

struct DiffRow {
    const TensorInfo* a = nullptr; ///< null: only in B
    const TensorInfo* b = nullptr;
    DiffStatus status = DiffStatus::Refused;
    std::string aligned; ///< how they were found: "name", "canonical name", "part of", "values"
    Placement placement; ///< of the smaller one in the other
    bool inA = false;    ///< A is the fused one: the row is of a part of it
    std::uint64_t elements = 0, differing = 0, nonFinite = 0; ///< nonFinite: differing because one is NaN or Inf
    double errorPower = 0, power = 0, otherPower = 0, product = 0;
    double maxAbs = 0;
    std::string reason;
    std::optional<double> nmse() const;   ///< ||B - A||^2 / ||A||^2
    std::optional<double> sqnrDb() const; ///< none where nothing differs
    std::optional<double> cosine() const;
};

struct DiffResult {
    std::vector<DiffRow> rows;              ///< in A's order, then what only B has
    std::size_t equalLeftOut = 0;           ///< rows that keepChanged() has taken away
    std::array<std::size_t, 5> handedOut{}; ///< where rows went to onRow: how many, by their status
    std::uint64_t bytes = 0;                ///< read of both
    double seconds = 0;
    std::size_t handedOutRows() const { return std::accumulate(handedOut.begin(), handedOut.end(), std::size_t(0)); }
    std::size_t count(DiffStatus status) const;
};

struct DiffPlan {
    std::shared_ptr<const Model> a, b;
    std::string tensorRegex = {}; ///< unanchored, of names in A or in B; "": all tensors
};
/// Is handed rows one by one, in the order in which they are done: in A's but for those found by their values, or as
/// parts of what comes later. What only B has comes last.
using OnDiffRow = std::function<Result<void>(const DiffRow&)>;
/// Cancellable; bounded memory, with `onRow` also of the rows. Fails on a filter that is no regular expression or takes
/// no tensor.
Result<DiffResult> diffModels(const DiffPlan& plan, const Job& job, const OnDiffRow& onRow = {});
/// Says of a change: not of a tensor that is equal in its order.
bool isChanged(const DiffRow& row);
/// Leaves the rows that are; the others are counted and go.
void keepChanged(DiffResult& result);

const Columns<DiffRow>& diffColumns();
/// "36 equal, 2 different, 1 only in A"
std::string diffText(const DiffResult& result);
Result<Report> diffReport(const DiffPlan& plan, const DiffResult& result, const std::string& commandLine,
                          const Job& job = {});

} // namespace qs
