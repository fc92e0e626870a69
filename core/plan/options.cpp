// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/plan/options.h"

#include "core/plan/units.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace qs::plan {
namespace {

template<class Pick> std::uint64_t sumOf(const Options& options, Pick pick) {
    std::uint64_t sum = options.fixedBytes;
    for (const auto& unit : options.of)
        sum += pick(unit.begin(), unit.end(), [](const UnitOption& a, const UnitOption& b) {
                   return a.bytes < b.bytes;
               })->bytes;
    return sum;
}

/// Losses of a tensor, and where those of each spec of the options are in them.
class KnownLosses {
public:
    KnownLosses(const Losses& losses, const std::vector<QuantSpec>& specs) : losses_(losses) {
        for (const QuantSpec& spec : specs) {
            const auto found = std::find(losses.specs.begin(), losses.specs.end(), spec);
            at_.push_back(found == losses.specs.end() ? kKeep : std::size_t(found - losses.specs.begin()));
        }
    }
    const eval::Estimate* find(const TensorInfo& tensor, std::size_t spec) {
        if (&tensor != last_) {
            const auto found = losses_.of.find(tensor.name);
            last_ = &tensor, row_ = found == losses_.of.end() ? nullptr : &found->second;
        }
        if (!row_ || at_[spec] >= row_->size() || !(*row_)[at_[spec]]) return nullptr;
        return &*(*row_)[at_[spec]];
    }
    std::string whyMissing(const TensorInfo& tensor) const {
        const auto why = losses_.reasons.find(tensor.name);
        return why == losses_.reasons.end() ? "it has no loss by this objective" : why->second;
    }

private:
    const Losses& losses_;
    std::vector<std::size_t> at_;
    const TensorInfo* last_ = nullptr;
    const std::vector<std::optional<eval::Estimate>>* row_ = nullptr;
};

class Maker {
public:
    Maker(const OptionRequest& request, const StoredSizes& sizes, const Losses& losses, Options& out)
        : request_(request), sizes_(sizes), losses_(losses, out.specs), out_(out) {
        for (const QuantSpec& spec : out.specs) places_.push_back(*sizes.find(spec));
    }

    Result<void> make() {
        auto units = unitsOf(request_, *sizes_.layout, out_.remarks);
        if (!units) return tl::unexpected(units.error());
        out_.fixedBytes = sizes_.bytes;
        refused_.resize(out_.choices);
        for (LockedUnit& one : *units)
            if (one.lock)
                addLocked(std::move(one));
            else
                addFree(std::move(one));
        remark(units->size());
        if (out_.units.empty())
            return fail(fmt::format("There is no tensor to plan{}.",
                                    left_.empty() ? "" : fmt::format("; the first reason: {}", left_.begin()->first)));
        return {};
    }

private:
    /// Null, or why the unit cannot have the spec.
    std::optional<std::string> fill(const PlanUnit& unit, UnitOption& option, bool needsLoss) {
        for (const TensorInfo* tensor : unit.tensors) {
            const StoredSizes::One& size = sizes_.of[places_[option.spec]][sizes_.indexOf(*tensor)];
            if (!size.reason.empty()) return size.reason;
            const eval::Estimate* loss = losses_.find(*tensor, option.spec);
            if (!loss && needsLoss) return losses_.whyMissing(*tensor);
            option.bytes += size.bytes;
            if (loss)
                option.loss += loss->mean, option.error += loss->byChunk.value_or(0);
            else
                option.isMeasured = false;
        }
        if (!option.isMeasured) option.loss = option.error = 0;
        return {};
    }

    std::uint64_t keptBytes(const PlanUnit& unit) const {
        std::uint64_t sum = 0;
        for (const TensorInfo* tensor : unit.tensors) sum += sizes_.kept[sizes_.indexOf(*tensor)];
        return sum;
    }

    /// Bytes of the unit under a limit's spec; none: it cannot have it, so the limit says nothing.
    std::optional<std::uint64_t> limitOf(const PlanUnit& unit, const SizeLimit& limit) const {
        std::uint64_t sum = 0;
        for (const TensorInfo* tensor : unit.tensors) {
            const auto& size = sizes_.of[*sizes_.find(limit.spec)][sizes_.indexOf(*tensor)];
            if (!size.reason.empty()) return {};
            sum += size.bytes;
        }
        return sum;
    }

    void put(PlanUnit unit, std::vector<UnitOption> options) {
        out_.fixedBytes -= keptBytes(unit);
        for (const TensorInfo* tensor : unit.tensors) out_.matched += tensor->elements;
        out_.units.push_back(std::move(unit));
        out_.of.push_back(std::move(options));
    }

    void addLocked(LockedUnit one) {
        UnitOption option{kKeep, keptBytes(one.unit), 0, 0, true};
        if (const auto& spec = one.lock->spec) {
            UnitOption wanted{std::size_t(std::find(out_.specs.begin(), out_.specs.end(), *spec) - out_.specs.begin()),
                              0, 0, 0, true};
            if (const auto why = fill(one.unit, wanted, false))
                out_.remarks.push_back(
                    fmt::format("{} is locked to {} and stays as it is: {}", one.unit.name, specText(*spec), *why));
            else
                option = wanted;
            if (!option.isMeasured) ++unmeasured_;
        }
        put(std::move(one.unit), {option});
    }

    void addFree(LockedUnit one) {
        std::vector<UnitOption> options;
        std::string reason;
        for (std::size_t s = 0; s < out_.choices; ++s) {
            UnitOption option{s, 0, 0, 0, true};
            auto why = fill(one.unit, option, true);
            for (const std::size_t i : one.limits) {
                const SizeLimit& limit = request_.limits[i];
                const auto bound = limitOf(one.unit, limit);
                if (!why && bound && (limit.isLeast ? option.bytes < *bound : option.bytes > *bound))
                    why = fmt::format("the limit of {} is {}.", limit.regex, specText(limit.spec));
            }
            if (!why) {
                options.push_back(option);
                continue;
            }
            if (refused_[s].first++ == 0) refused_[s].second = *why;
            if (reason.empty()) reason = std::move(*why);
        }
        if (options.empty())
            ++left_[reason];
        else
            put(std::move(one.unit), std::move(options));
    }

    void remark(std::size_t units) {
        for (const auto& [reason, count] : left_)
            out_.remarks.push_back(fmt::format("{} stay as they are: {}",
                                               count == 1 ? "1 unit" : fmt::format("{} units", count),
                                               reason.empty() ? "no spec fits." : reason));
        for (std::size_t s = 0; s < out_.choices; ++s)
            if (const auto& [count, reason] = refused_[s]; count > left_.size() || (count > 0 && left_.empty()))
                out_.remarks.push_back(fmt::format("{} is no choice for {} of {} units in the layout {}: {}",
                                                   specText(out_.specs[s]), count, units, out_.layout->id, reason));
        if (unmeasured_ > 0)
            out_.remarks.push_back(
                fmt::format("{} locked to a spec whose loss was not measured: sums lack {}.",
                            unmeasured_ == 1 ? "1 unit is" : fmt::format("{} units are", unmeasured_),
                            unmeasured_ == 1 ? "it" : "them"));
    }

    const OptionRequest& request_;
    const StoredSizes& sizes_;
    KnownLosses losses_;
    Options& out_;
    std::vector<std::size_t> places_;                          ///< of each spec in the sizes
    std::map<std::string, std::size_t> left_;                  ///< reasons, with the number of units
    std::vector<std::pair<std::size_t, std::string>> refused_; ///< of each spec: units, the first reason
    std::size_t unmeasured_ = 0;
};

} // namespace

bool Options::isEverywhere(std::size_t spec) const {
    for (std::size_t u = 0; u < units.size(); ++u)
        if (units[u].lock.empty() &&
            std::none_of(of[u].begin(), of[u].end(), [&](const UnitOption& o) { return o.spec == spec; }))
            return false;
    return true;
}

std::uint64_t Options::leastBytes() const {
    return sumOf(*this, [](auto begin, auto end, auto less) { return std::min_element(begin, end, less); });
}

std::uint64_t Options::mostBytes() const {
    return sumOf(*this, [](auto begin, auto end, auto less) { return std::max_element(begin, end, less); });
}

std::vector<QuantSpec> OptionRequest::allSpecs() const {
    auto out = specs;
    const auto add = [&](const QuantSpec& spec) {
        if (std::find(out.begin(), out.end(), spec) == out.end()) out.push_back(spec);
    };
    for (const TensorRule& lock : locks)
        if (lock.spec) add(*lock.spec);
    for (const SizeLimit& limit : limits) add(limit.spec);
    return out;
}

Result<Options> planOptions(const OptionRequest& request, const StoredSizes& sizes, const Losses& losses) {
    Options out;
    out.model = request.model, out.layout = sizes.layout, out.elements = sizes.elements;
    out.specs = request.allSpecs(), out.choices = request.specs.size();
    for (const QuantSpec& spec : out.specs)
        if (!sizes.find(spec)) return fail(fmt::format("The bytes of {} are not known.", specText(spec)));
    if (auto made = Maker(request, sizes, losses, out).make(); !made) return tl::unexpected(made.error());
    return out;
}

Result<Options> planOptions(const OptionRequest& request, const Losses& losses, const Job& job) {
    const auto sizes = storedSizes(request.model, request.tensors.empty() ? nullptr : request.tensors.front(),
                                   request.allSpecs(), request.layout, job);
    if (!sizes) return tl::unexpected(sizes.error());
    return planOptions(request, *sizes, losses);
}

} // namespace qs::plan
