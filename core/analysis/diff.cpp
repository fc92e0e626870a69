// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/diff.h"

#include "core/analysis/diff_compare.h"
#include "core/analysis/diff_permuted.h"
#include "core/base/text.h"
#include "core/quant/layout.h"
#include "core/quant/pass.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <map>
#include <set>

namespace qs {
namespace {

constexpr double kAlike = 0.25;             ///< NMSE up to which tensors without a common name are the same one
constexpr std::size_t kMostCandidates = 64; ///< of equal size, for one of them

bool hasValues(const TensorInfo& tensor) { return checkQuantizable(tensor).has_value(); }

class Diff {
public:
    Diff(const DiffPlan& plan, const Job& job) : plan_(plan), job_(job) {
        for (const TensorInfo& tensor : plan.b->tensors) byName_.try_emplace(canonicalTensorName(tensor.name), &tensor);
        for (const TensorInfo& tensor : plan.a->tensors) ours_.try_emplace(canonicalTensorName(tensor.name), &tensor);
        total_ = double(plan.a->totalBytes() + plan.b->totalBytes());
    }

    Result<DiffResult> run() {
        if (auto known = findWanted(); !known) return tl::unexpected(known.error());
        std::vector<const TensorInfo*> left;
        for (const TensorInfo& a : plan_.a->tensors) {
            if (auto done = align(a, left); !done) return tl::unexpected(done.error());
        }
        for (const TensorInfo* a : left)
            if (auto done = byValues(*a); !done) return tl::unexpected(done.error());
        std::stable_sort(out_.rows.begin(), out_.rows.end(),
                         [](const DiffRow& x, const DiffRow& y) { return x.a && y.a && x.a < y.a; });
        for (const TensorInfo& b : plan_.b->tensors)
            if (!taken_.contains(&b) && wants(b)) {
                DiffRow row;
                row.b = &b, row.status = DiffStatus::OnlyB, row.elements = b.elements;
                out_.rows.push_back(std::move(row));
            }
        return std::move(out_);
    }

private:
    Result<void> findWanted() {
        if (plan_.tensorRegex.empty()) return {};
        for (const auto& model : {plan_.a, plan_.b}) {
            const auto found = selectTensors(*model, plan_.tensorRegex);
            if (!found) return tl::unexpected(found.error());
            wanted_.insert(found->begin(), found->end());
        }
        if (wanted_.empty())
            return fail(fmt::format("The tensor filter '{}' takes no tensor of A or B.",
                                    escapeForPeople(plan_.tensorRegex, 80)));
        return {};
    }
    bool wants(const TensorInfo& tensor) const { return plan_.tensorRegex.empty() || wanted_.contains(&tensor); }

    /// By its name, as a part, or as what holds parts; else it is left for its values.
    Result<void> align(const TensorInfo& a, std::vector<const TensorInfo*>& left) {
        const std::string name = canonicalTensorName(a.name);
        const TensorInfo* b = plan_.b->find(a.name);
        const bool same = b != nullptr;
        if (const auto at = byName_.find(name); !b && at != byName_.end()) b = at->second;
        if (b && !wants(a) && !wants(*b)) {
            taken_.insert(b);
            return {};
        }
        if (b) return compare(a, *b, same ? "name" : "canonical name", name);
        for (const FusedRole& fused : fusedRoles()) {
            auto done = asWhole(a, name, fused);
            if (done && !*done) done = asPart(a, name, fused);
            if (!done) return tl::unexpected(done.error());
            if (*done) return {};
        }
        if (wants(a)) left.push_back(&a);
        return {};
    }

    Result<void> compare(const TensorInfo& a, const TensorInfo& b, const char* aligned, const std::string& name) {
        taken_.insert(&b);
        DiffRow row;
        row.a = &a, row.b = &b, row.aligned = aligned, row.elements = a.elements;
        if (a.elements != b.elements) return refuse(row, "they hold different numbers of values");
        if (a.elements == 0) {
            row.status = DiffStatus::Equal;
            out_.rows.push_back(std::move(row));
            return {};
        }
        if (!hasValues(a) || !hasValues(b)) return compareBytes(row);
        const Pairing pairing{plan_.a.get(), plan_.b.get(), &a, &b, true};
        const bool attention = name.find(".attn_q.") != name.npos || name.find(".attn_k.") != name.npos;
        auto best = bestPlacement(pairing, attention, 0, 0, 1);
        if (!best) return refuse(row, "no placement of one in the other fits their shapes");
        row.placement = best->placement;
        return measure(pairing, std::move(row));
    }

    /// A is fused, B has the parts. False: not so.
    Result<bool> asWhole(const TensorInfo& a, const std::string& name, const FusedRole& fused) {
        std::vector<const TensorInfo*> parts;
        for (const auto part : fused.parts) {
            const auto at = byName_.find(withRole(name, fused.fused, part));
            if (at == byName_.end()) return false;
            parts.push_back(at->second);
        }
        return fusedRows(a, parts, false);
    }

    /// B is fused, A is the first of the parts: all are compared with it. The others follow their first.
    Result<bool> asPart(const TensorInfo& a, const std::string& name, const FusedRole& fused) {
        if (parts_.contains(&a)) return true;
        const auto whole = [&] {
            for (const auto part : fused.parts)
                if (const auto other = withRole(name, part, fused.fused); !other.empty())
                    if (const auto at = byName_.find(other); at != byName_.end()) return std::pair(at->second, part);
            return std::pair<const TensorInfo*, std::string_view>();
        }();
        if (!whole.first) return false;
        std::vector<const TensorInfo*> parts;
        for (const auto part : fused.parts) {
            const auto at = ours_.find(withRole(name, whole.second, part));
            if (at == ours_.end()) return false;
            parts.push_back(at->second);
        }
        for (const TensorInfo* part : parts) parts_.insert(part);
        return fusedRows(*whole.first, parts, true);
    }

    Result<bool> fusedRows(const TensorInfo& whole, const std::vector<const TensorInfo*>& parts, bool partsAreA) {
        const Model* partModel = partsAreA ? plan_.a.get() : plan_.b.get();
        const Model* wholeModel = partsAreA ? plan_.b.get() : plan_.a.get();
        std::int64_t offset = 0;
        for (std::size_t i = 0; i < parts.size(); ++i) {
            const TensorInfo& part = *parts[i];
            DiffRow row;
            row.a = partsAreA ? &part : &whole, row.b = partsAreA ? &whole : &part;
            row.inA = !partsAreA, row.aligned = "part of", row.elements = part.elements;
            taken_.insert(row.b);
            if (!wants(part) && !wants(whole)) {
                offset += Matrix(part).rows;
                continue;
            }
            const Pairing pairing{partModel, wholeModel, &part, &whole, partsAreA};
            const auto best =
                hasValues(part) && hasValues(whole)
                    ? bestPlacement(pairing, parts.size() == 3, offset, std::int64_t(i), std::int64_t(parts.size()))
                    : std::nullopt;
            offset += Matrix(part).rows;
            auto done = Result<void>();
            if (best) {
                row.placement = best->placement;
                done = measure(pairing, std::move(row));
            } else {
                done = refuse(row, "the part does not fit into the fused tensor");
            }
            if (!done) return tl::unexpected(done.error());
        }
        return true;
    }

    /// Of those of its size that nothing else claims, the one that is most like it.
    Result<void> byValues(const TensorInfo& a) {
        DiffRow row;
        row.a = &a, row.status = DiffStatus::OnlyA, row.elements = a.elements;
        const TensorInfo* found = nullptr;
        BestPlacement placement;
        std::size_t candidates = 0;
        for (const TensorInfo& b : plan_.b->tensors) {
            if (taken_.contains(&b) || b.elements != a.elements || a.elements < 256 || !hasValues(a) || !hasValues(b))
                continue;
            if (job_.cancelled()) return cancelledError();
            if (++candidates > kMostCandidates) break;
            const Pairing pairing{plan_.a.get(), plan_.b.get(), &a, &b, true};
            const auto best = bestPlacement(pairing, a.shape.size() == 2, 0, 0, 1);
            if (best && best->nmse < kAlike && (!found || best->nmse < placement.nmse)) found = &b, placement = *best;
        }
        if (!found) {
            out_.rows.push_back(std::move(row));
            return {};
        }
        taken_.insert(found);
        row.b = found, row.aligned = "values", row.placement = placement.placement;
        return measure({plan_.a.get(), plan_.b.get(), &a, found, true}, std::move(row));
    }

    Result<void> measure(const Pairing& pairing, DiffRow row) {
        say(*pairing.part);
        if (auto done = compareAll(pairing, row.placement, job_, row); !done) return done;
        if (mayBePermuted(row)) {
            const auto found = findPermutation(pairing, job_);
            if (!found) return tl::unexpected(found.error());
            if (*found) {
                row.placement = {};
                row.placement.rowsPermuted = (*found)->rows, row.placement.columnsPermuted = (*found)->columns;
                row.status = DiffStatus::Equal;
                row.differing = 0, row.errorPower = 0, row.maxAbs = 0;
                row.product = row.otherPower = row.power;
            }
        }
        out_.bytes += pairing.part->bytes + pairing.whole->bytes;
        out_.rows.push_back(std::move(row));
        return {};
    }

    /// The same values in another order have the same power, but for the rounding of its sum.
    static bool mayBePermuted(const DiffRow& row) {
        return row.status == DiffStatus::Different && row.nonFinite == 0 && row.differing > 1 &&
               std::fabs(row.power - row.otherPower) <= 1e-9 * row.power;
    }

    Result<void> compareBytes(DiffRow& row) {
        if (row.a->dtype != row.b->dtype || row.a->bytes != row.b->bytes || row.a->packed != row.b->packed)
            return refuse(row, fmt::format("{} and {} are not compared by value", row.a->typeId(), row.b->typeId()));
        say(*row.a);
        const auto mappedA = plan_.a->view(*row.a), mappedB = plan_.b->view(*row.b);
        if (!mappedA) return tl::unexpected(mappedA.error());
        if (!mappedB) return tl::unexpected(mappedB.error());
        const TensorView a = forScan(*mappedA), b = forScan(*mappedB);
        constexpr std::uint64_t piece = 1 << 20;
        std::vector<std::byte> x, y;
        bool equal = true;
        for (std::uint64_t at = 0; at < row.a->bytes && equal; at += piece) {
            if (job_.cancelled()) return cancelledError();
            const auto n = std::size_t(std::min(piece, row.a->bytes - at));
            const auto p = a.read(at, n, x), q = b.read(at, n, y);
            equal = std::memcmp(p.data(), q.data(), n) == 0;
        }
        releasePages(*plan_.a, *row.a);
        releasePages(*plan_.b, *row.b);
        for (const auto& [model, tensor] : {std::pair(plan_.a, row.a), {plan_.b, row.b}})
            if (auto same = model->unchanged(*tensor); !same) return same;
        out_.bytes += 2 * row.a->bytes;
        row.status = equal ? DiffStatus::Equal : DiffStatus::Different;
        row.reason = equal ? "" : "bytes differ; elements of this type have no values to compare";
        out_.rows.push_back(std::move(row));
        return {};
    }

    Result<void> refuse(DiffRow& row, std::string reason) {
        row.status = DiffStatus::Refused, row.reason = std::move(reason);
        out_.rows.push_back(std::move(row));
        return {};
    }

    void say(const TensorInfo& tensor) {
        job_.progress({double(out_.bytes), total_, "Comparing " + escapeForPeople(tensor.name, 60), out_.rows.size(),
                       plan_.a->tensors.size()});
    }

    const DiffPlan& plan_;
    const Job& job_;
    std::map<std::string, const TensorInfo*> byName_, ours_; ///< canonical names of B and A
    std::set<const TensorInfo*> taken_;                      ///< of B
    std::set<const TensorInfo*> wanted_;                     ///< of both: what the filter takes
    std::set<const TensorInfo*> parts_;                      ///< of A, compared with their fused tensor
    DiffResult out_;
    double total_ = 0;
};

} // namespace

Result<DiffResult> diffModels(const DiffPlan& plan, const Job& job) {
    const auto start = std::chrono::steady_clock::now();
    auto result = Diff(plan, job).run();
    if (result) result->seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return result;
}

void keepChanged(DiffResult& result) {
    result.equalLeftOut += std::erase_if(
        result.rows, [](const DiffRow& row) { return row.status == DiffStatus::Equal && !row.placement.permuted(); });
}

std::size_t DiffResult::count(DiffStatus status) const {
    return std::size_t(
        std::count_if(rows.begin(), rows.end(), [&](const DiffRow& row) { return row.status == status; }));
}

} // namespace qs
