// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/diff/diff.h"

#include "core/analysis/diff/diff_compare.h"
#include "core/analysis/diff/diff_permuted.h"
#include "core/base/text.h"
#include "core/layouts/layout.h"
#include "core/quant/encode/pass.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <map>
#include <random>
#include <set>
#include <string_view>
#include <xxhash.h>

namespace qs {
namespace {

constexpr double kAlike = 0.25;             ///< largest NMSE at which tensors without a common name are matched
constexpr std::size_t kMostCandidates = 64; ///< tensors of equal size that are tried for one tensor
constexpr std::uint64_t kLeastAlike = 256;  ///< least number of values; smaller tensors can be similar by chance

bool hasValues(const TensorInfo& tensor) { return checkQuantizable(tensor).has_value(); }

/// Finds tensors by canonical name. There may be a million, so it uses 16 bytes per tensor. The index is built at first
/// use.
class CanonicalNames {
public:
    explicit CanonicalNames(const Model& model) : model_(model) {}
    /// The first tensor with this canonical name, or null.
    const TensorInfo* find(std::string_view name) {
        if (rows_.size() != model_.tensors.size()) make();
        const Row row{XXH3_64bits_withSeed(name.data(), name.size(), seed_), 0};
        for (auto at = std::lower_bound(rows_.begin(), rows_.end(), row); at != rows_.end() && at->hash == row.hash;
             ++at)
            if (const auto& tensor = model_.tensors[at->index]; canonicalTensorName(tensor.name) == name)
                return &tensor;
        return nullptr;
    }

private:
    struct Row {
        std::uint64_t hash;
        std::uint32_t index;
        auto operator<=>(const Row&) const = default;
    };
    void make() {
        rows_.reserve(model_.tensors.size());
        for (const TensorInfo& tensor : model_.tensors) {
            const std::string name = canonicalTensorName(tensor.name);
            rows_.push_back({XXH3_64bits_withSeed(name.data(), name.size(), seed_), std::uint32_t(rows_.size())});
        }
        std::ranges::sort(rows_);
    }
    const Model& model_;
    std::vector<Row> rows_;
    std::uint64_t seed_ = std::random_device()(); ///< random, so that a file cannot contain names that collide
};

/// A set of tensors of one model.
class Marks {
public:
    explicit Marks(const Model& model) : first_(model.tensors.data()), has_(model.tensors.size()) {}
    void insert(const TensorInfo* tensor) { has_[std::size_t(tensor - first_)] = true; }
    bool contains(const TensorInfo* tensor) const { return has_[std::size_t(tensor - first_)]; }

private:
    const TensorInfo* first_;
    std::vector<bool> has_;
};

class Diff {
public:
    Diff(const DiffPlan& plan, const Job& job, const OnDiffRow& onRow)
        : plan_(plan), job_(job), onRow_(onRow), byName_(*plan.b), ours_(*plan.a), taken_(*plan.b), wantedA_(*plan.a),
          wantedB_(*plan.b), parts_(*plan.a) {
        total_ = double(plan.a->totalBytes() + plan.b->totalBytes());
        findUndecoded();
    }

    Result<DiffResult> run() {
        if (auto known = findWanted(); !known) return tl::unexpected(known.error());
        std::vector<const TensorInfo*> left;
        for (const TensorInfo& a : plan_.a->tensors) {
            if (auto done = align(a, left); !done) return tl::unexpected(done.error());
        }
        if (!left.empty()) findFree();
        for (const TensorInfo* a : left)
            if (auto done = byValues(*a); !done) return tl::unexpected(done.error());
        std::ranges::stable_sort(out_.rows, [](const DiffRow& x, const DiffRow& y) { return x.a && y.a && x.a < y.a; });
        for (const TensorInfo& b : plan_.b->tensors)
            if (!taken_.contains(&b) && wantsB(b)) {
                DiffRow row;
                row.b = &b, row.status = DiffStatus::OnlyB, row.elements = b.elements;
                if (auto done = put(std::move(row)); !done) return tl::unexpected(done.error());
            }
        return std::move(out_);
    }

private:
    Result<void> findWanted() {
        if (plan_.tensorRegex.empty()) return {};
        bool any = false;
        for (auto* wanted : {&wantedA_, &wantedB_}) {
            const auto found = namedTensors(wanted == &wantedA_ ? *plan_.a : *plan_.b, plan_.tensorRegex);
            if (!found) return tl::unexpected(found.error());
            for (const TensorInfo* tensor : *found) wanted->insert(tensor), any = true;
        }
        if (!any)
            return fail(fmt::format("The tensor filter '{}' takes no tensor of A or B.",
                                    escapeForPeople(plan_.tensorRegex, 80)));
        return {};
    }
    bool wantsA(const TensorInfo& tensor) const { return plan_.tensorRegex.empty() || wantedA_.contains(&tensor); }
    bool wantsB(const TensorInfo& tensor) const { return plan_.tensorRegex.empty() || wantedB_.contains(&tensor); }

    void findUndecoded() {
        for (const auto& model : {plan_.a, plan_.b})
            for (const UndecodedLayer& layer : model->undecoded) {
                undecoded_.insert(canonicalTensorName(layer.name));
                undecodedParts_.insert(layer.parts.begin(), layer.parts.end());
            }
    }
    /// Why a tensor has no partner, if a layer that is not decoded explains it.
    std::string whyAlone(const DiffRow& row) const {
        if (undecoded_.empty()) return {};
        const TensorInfo& tensor = row.a ? *row.a : *row.b;
        if (undecodedParts_.contains(tensor.name.view()))
            return "it is a part of a quantized layer that is not decoded";
        const std::string name = canonicalTensorName(tensor.name);
        if (!undecoded_.contains(name) && !undecoded_.contains(name.substr(0, name.rfind('.')))) return {};
        return fmt::format("{} stores it quantized, in a way that is not decoded", row.a ? "B" : "A");
    }

    /// Adds a finished row to the result, or passes it to onRow.
    Result<void> put(DiffRow row) {
        ++done_;
        if (row.status == DiffStatus::OnlyA || row.status == DiffStatus::OnlyB) row.reason = whyAlone(row);
        out_.equalButSigns += row.status == DiffStatus::Equal && row.zeroSigns > 0;
        if (!onRow_) return out_.rows.push_back(std::move(row)), Result<void>();
        ++out_.handedOut[std::size_t(row.status)];
        return onRow_(row);
    }

    /// Aligns a tensor of A by its name, as a part, or as a fused tensor. Otherwise adds it to `left`, to be found by
    /// its values.
    Result<void> align(const TensorInfo& a, std::vector<const TensorInfo*>& left) {
        const std::string name = canonicalTensorName(a.name);
        const TensorInfo* b = plan_.b->find(a.name);
        const bool same = b != nullptr;
        if (!b) b = byName_.find(name);
        if (b && !wantsA(a) && !wantsB(*b)) {
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
        if (wantsA(a)) left.push_back(&a);
        return {};
    }

    Result<void> compare(const TensorInfo& a, const TensorInfo& b, const char* aligned, const std::string& name) {
        taken_.insert(&b);
        DiffRow row;
        row.a = &a, row.b = &b, row.aligned = aligned, row.elements = a.elements;
        for (const TensorInfo* one : {&a, &b})
            if (one->isUnread() && one->bytes == 0) return refuse(row, "its values cannot be read");
        if (a.elements != b.elements) return refuse(row, "they hold different numbers of values");
        if (a.elements == 0 && a.shape != b.shape)
            return refuse(row, fmt::format("they hold no values, in different shapes: {} and {}", shapeText(a.shape),
                                           shapeText(b.shape)));
        if (a.elements == 0) {
            row.status = DiffStatus::Equal;
            return put(std::move(row));
        }
        if (!hasValues(a) || !hasValues(b)) return compareBytes(row);
        const Pairing pairing{plan_.a.get(), plan_.b.get(), &a, &b, true};
        const bool attention = name.find(".attn_q.") != name.npos || name.find(".attn_k.") != name.npos;
        const bool isGateUp = name.find(".ffn_gate_up.") != name.npos;
        auto best = bestPlacement(pairing,
                                  attention  ? RowOrders::Heads
                                  : isGateUp ? RowOrders::GateAndUp
                                             : RowOrders::None,
                                  0, 0, 1);
        if (isGateUp && (!best || best->nmse > 0)) { // the columns of A may be what is in turns: see from B
            const Pairing fromB{plan_.b.get(), plan_.a.get(), &b, &a, false};
            const auto other = bestPlacement(fromB, RowOrders::GateAndUp, 0, 0, 1);
            // Clearly better: both see rows in turns, and samples of quantized values differ a little.
            if (other && (!best || other->nmse < best->nmse / 2)) {
                row.placement = other->placement, row.inA = true;
                return measure(fromB, std::move(row));
            }
        }
        if (!best) return refuse(row, "no placement of one in the other fits their shapes");
        row.placement = best->placement;
        return measure(pairing, std::move(row));
    }

    /// A is fused and B has the parts. Returns false if this is not the case.
    Result<bool> asWhole(const TensorInfo& a, const std::string& name, const FusedRole& fused) {
        std::vector<const TensorInfo*> parts;
        for (const auto part : fused.parts) {
            const std::string other = withRole(name, fused.fused, part);
            const TensorInfo* found = other.empty() ? nullptr : byName_.find(other);
            if (!found) return false;
            parts.push_back(found);
        }
        return fusedRows(a, parts, false);
    }

    /// B is fused and A is one of the parts. All parts are compared when the first is met. Returns false if this is not
    /// the case.
    Result<bool> asPart(const TensorInfo& a, const std::string& name, const FusedRole& fused) {
        if (parts_.contains(&a)) return true;
        const auto whole = [&] {
            for (const auto part : fused.parts)
                if (const auto other = withRole(name, part, fused.fused); !other.empty())
                    if (const TensorInfo* found = byName_.find(other)) return std::pair(found, part);
            return std::pair<const TensorInfo*, std::string_view>();
        }();
        if (!whole.first) return false;
        std::vector<const TensorInfo*> parts;
        for (const auto part : fused.parts) {
            const std::string other = withRole(name, whole.second, part);
            const TensorInfo* found = other.empty() ? nullptr : ours_.find(other);
            if (!found) return false;
            parts.push_back(found);
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
            if (partsAreA ? !wantsA(part) && !wantsB(whole) : !wantsB(part) && !wantsA(whole)) {
                offset += Matrix(part).rows;
                continue;
            }
            const Pairing pairing{partModel, wholeModel, &part, &whole, partsAreA};
            const auto best = hasValues(part) && hasValues(whole)
                                  ? bestPlacement(pairing, parts.size() == 3 ? RowOrders::Heads : RowOrders::GateAndUp,
                                                  offset, std::int64_t(i), std::int64_t(parts.size()))
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

    /// Lists tensors of B that are not matched and have comparable values, sorted by size, then in the order of B.
    void findFree() {
        for (const TensorInfo& b : plan_.b->tensors)
            if (!taken_.contains(&b) && b.elements >= kLeastAlike && hasValues(b))
                free_.push_back(std::uint32_t(&b - plan_.b->tensors.data()));
        const auto sizeOf = [&](std::uint32_t i) { return plan_.b->tensors[i].elements; };
        std::ranges::sort(
            free_, [&](std::uint32_t x, std::uint32_t y) { return std::pair(sizeOf(x), x) < std::pair(sizeOf(y), y); });
        for (std::size_t i = 0; i < free_.size(); ++i) {
            auto& range = freeOf_.try_emplace(sizeOf(free_[i]), i, i).first->second;
            range.second = i + 1;
        }
    }

    /// Matches a tensor of A with the most similar unmatched tensor of B of the same size.
    Result<void> byValues(const TensorInfo& a) {
        DiffRow row;
        row.a = &a, row.status = DiffStatus::OnlyA, row.elements = a.elements;
        const TensorInfo* found = nullptr;
        BestPlacement placement;
        const auto range = freeOf_.find(a.elements);
        if (range != freeOf_.end() && hasValues(a)) {
            auto& [first, last] = range->second;
            std::size_t at = first;
            for (std::size_t i = first; i < last && i - first < kMostCandidates; ++i) {
                if (job_.cancelled()) return cancelledError();
                const TensorInfo& b = plan_.b->tensors[free_[i]];
                const Pairing pairing{plan_.a.get(), plan_.b.get(), &a, &b, true};
                const auto best =
                    bestPlacement(pairing, a.shape.size() == 2 ? RowOrders::Heads : RowOrders::None, 0, 0, 1);
                if (best && best->nmse < kAlike && (!found || best->nmse < placement.nmse))
                    found = &b, placement = *best, at = i;
            }
            if (found) { // remove it from the range; the others keep their order
                const auto begin = free_.begin() + std::ptrdiff_t(first);
                std::rotate(begin, begin + std::ptrdiff_t(at - first), begin + std::ptrdiff_t(at - first) + 1);
                ++first;
            }
        }
        if (!found) return put(std::move(row));
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
                row.differing = 0, row.errorPower = 0, row.maxAbs = 0, row.zeroSigns = (*found)->zeroSigns;
                row.product = row.otherPower = row.power;
            }
        }
        out_.bytes += pairing.part->bytes + pairing.whole->bytes;
        return put(std::move(row));
    }

    /// A permutation does not change the sum of squares, except for rounding. So different sums rule it out quickly.
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
        return put(std::move(row));
    }

    Result<void> refuse(DiffRow& row, std::string reason) {
        row.status = DiffStatus::Refused, row.reason = std::move(reason);
        return put(std::move(row));
    }

    void say(const TensorInfo& tensor) {
        job_.progress({double(out_.bytes), total_, "Comparing " + escapeForPeople(tensor.name, 60), done_,
                       plan_.a->tensors.size()});
    }

    const DiffPlan& plan_;
    const Job& job_;
    const OnDiffRow& onRow_;
    CanonicalNames byName_, ours_;                                  ///< indices of B and of A
    Marks taken_;                                                   ///< tensors of B that are matched
    Marks wantedA_, wantedB_;                                       ///< tensors that the filter selects
    std::set<std::string, std::less<>> undecoded_, undecodedParts_; ///< layers of A and B, and their parts
    Marks parts_;                     ///< tensors of A that were compared as parts of a fused tensor
    std::vector<std::uint32_t> free_; ///< indices of tensors of B, see findFree()
    /// Range in free_ of the tensors of each size.
    std::map<std::uint64_t, std::pair<std::size_t, std::size_t>> freeOf_;
    DiffResult out_;
    std::size_t done_ = 0; ///< number of finished rows
    double total_ = 0;
};

} // namespace

Result<DiffResult> diffModels(const DiffPlan& plan, const Job& job, const OnDiffRow& onRow) {
    const auto start = std::chrono::steady_clock::now();
    auto result = Diff(plan, job, onRow).run();
    if (result) result->seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return result;
}

bool isChanged(const DiffRow& row) {
    return row.status != DiffStatus::Equal || row.placement.permuted() || row.zeroSigns > 0;
}

void keepChanged(DiffResult& result) {
    result.equalLeftOut += std::erase_if(result.rows, [](const DiffRow& row) { return !isChanged(row); });
}

std::size_t DiffResult::count(DiffStatus status) const {
    if (handedOutRows() > 0) return handedOut[std::size_t(status)];
    return std::size_t(std::ranges::count_if(rows, [&](const DiffRow& row) { return row.status == status; }));
}

} // namespace qs
