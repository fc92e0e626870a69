// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/text.h"
#include "core/layouts/serve.h"
#include "core/session/kept_json.h"
#include "core/session/kept_results.h"
#include "core/session/session_file.h"

namespace qs {
namespace kept {
namespace {

constexpr int kStatuses = int(DiffStatus::Refused) + 1, kOrders = int(Placement::Rows::TurnsInHalves) + 1;

struct RowKept {
    DiffRow row;
    std::string a, b; ///< tensor names in the two models; empty if missing there
    int order = 0;
    std::optional<std::uint64_t> nonFiniteEqual = {}; ///< none: of an earlier version, which did not count them
    std::optional<std::uint64_t> zeroSigns = {};      ///< the same
};
struct DiffKept {
    std::string other;
    std::vector<std::string> paths;
    std::vector<std::uint64_t> sizes;
    std::vector<std::int64_t> times;
    std::vector<RowKept> rows;
    std::uint64_t bytes = 0, equalLeftOut = 0;
    double seconds = 0;
};

} // namespace

template<class Io> static void fields(Io& io, RowKept& one) {
    auto& row = one.row;
    io("a", one.a);
    io("b", one.b);
    io.named("status", row.status, kStatuses, diffStatusId);
    io("aligned", row.aligned);
    io("transposed", row.placement.transposed);
    io("order", one.order);
    io("head", row.placement.head);
    io("offset", row.placement.offset);
    io("in_a", row.inA);
    io("rows_permuted", row.placement.rowsPermuted);
    io("columns_permuted", row.placement.columnsPermuted);
    io("elements", row.elements);
    io("differing", row.differing);
    io("non_finite", row.nonFinite);
    io("non_finite_equal", one.nonFiniteEqual);
    io("zero_signs", one.zeroSigns);
    io("error", row.errorPower);
    io("power", row.power);
    io("other_power", row.otherPower);
    io("product", row.product);
    io("max_abs", row.maxAbs);
    io("reason", row.reason);
}
template<class Io> static void fields(Io& io, DiffKept& all) {
    io("other", all.other);
    io("paths", all.paths);
    io("sizes", all.sizes);
    io("times", all.times);
    io("rows", all.rows);
    io("bytes", all.bytes);
    io("equal_left_out", all.equalLeftOut);
    io("seconds", all.seconds);
}

} // namespace kept

std::string keptDiff(const KeptDiff& diff) {
    kept::DiffKept all;
    all.other = diff.plan.b->path;
    if (const auto sources = sourcesOf(*diff.plan.b, 0))
        for (const auto& source : *sources) {
            all.paths.push_back(source.path);
            all.sizes.push_back(source.size);
            all.times.push_back(source.mtimeNs);
        }
    for (const auto& row : diff.result.rows) {
        all.rows.push_back({row, row.a ? row.a->name : "", row.b ? row.b->name : "", int(row.placement.rows),
                            row.nonFiniteEqual, row.zeroSigns});
        all.rows.back().row.a = all.rows.back().row.b = nullptr;
    }
    all.bytes = diff.result.bytes, all.seconds = diff.result.seconds;
    all.equalLeftOut = diff.result.equalLeftOut;
    return kept::textOf(all);
}

Result<KeptDiff> diffKept(const std::string& text, const std::shared_ptr<const Model>& a, const Job& job) {
    auto all = kept::fromText<kept::DiffKept>(text);
    if (!all) return fail("the kept comparison is damaged: " + all.error());
    auto b = openModel(all->other);
    if (b) b = servedModel(*b, job);
    if (!b) return tl::unexpected(b.error());
    const auto sources = sourcesOf(**b, 0, job);
    if (!sources) return tl::unexpected(sources.error());
    bool same = sources->size() == all->paths.size() && all->sizes.size() == all->paths.size() &&
                all->times.size() == all->paths.size();
    for (std::size_t i = 0; same && i < sources->size(); ++i) {
        const auto& source = (*sources)[i];
        same = source.path == all->paths[i] && source.size == all->sizes[i] && source.mtimeNs == all->times[i];
    }
    const auto changed = escapeForPeople(all->other, 200) + " has changed since it was compared: compare again";
    if (!same) return fail(changed);
    KeptDiff diff;
    diff.plan.a = a, diff.plan.b = *b;
    diff.result.bytes = all->bytes, diff.result.seconds = all->seconds;
    diff.result.equalLeftOut = std::size_t(all->equalLeftOut);
    for (auto& one : all->rows) {
        auto& row = one.row;
        row.a = one.a.empty() ? nullptr : a->find(one.a);
        row.b = one.b.empty() ? nullptr : (*b)->find(one.b);
        if ((!row.a && !one.a.empty()) || (!row.b && !one.b.empty()) || (!row.a && !row.b)) return fail(changed);
        if (one.order < 0 || one.order >= kept::kOrders) return fail("the kept comparison is damaged: an order");
        row.placement.rows = Placement::Rows(one.order);
        row.nonFiniteEqual = one.nonFiniteEqual.value_or(0), row.zeroSigns = one.zeroSigns.value_or(0);
        diff.result.equalButSigns += row.status == DiffStatus::Equal && row.zeroSigns > 0;
        diff.result.rows.push_back(std::move(row));
    }
    return diff;
}

} // namespace qs
