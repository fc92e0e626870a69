// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/plan/options.h"

#include "core/base/lists.h"
#include "core/base/text.h"
#include "core/base/wide_text.h"
#include "core/plan/known_times.h"
#include "core/plan/layout_demands.h"

#include <QRegularExpression>
#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace qs::plan {
namespace {

/// `fixed` and the least, or the most, of every unit.
std::uint64_t sumOf(const Options& options, std::uint64_t fixed, std::uint64_t UnitOption::*cost, bool isLeast) {
    for (std::size_t u = 0; u < options.of.size(); ++u) {
        std::uint64_t of = options.of[u].front().*cost;
        for (const UnitOption& option : options.of[u])
            of = isLeast ? std::min(of, option.*cost) : std::max(of, option.*cost);
        fixed += of;
    }
    return fixed;
}

/// Losses under the specs of the options.
class KnownLosses {
public:
    KnownLosses(const Losses& losses, const std::vector<QuantSpec>& specs) : losses_(losses) {
        for (const QuantSpec& spec : specs) at_.push_back(losses.find(spec));
    }
    std::optional<eval::Estimate> find(const TensorInfo& tensor, std::size_t spec) const {
        return at_[spec] ? losses_.of(tensor, *at_[spec]) : std::nullopt;
    }
    std::string whyMissing(const TensorInfo& tensor) const {
        const std::string& why = losses_.reason(tensor);
        return why.empty() ? "it has no loss by this objective" : why;
    }

private:
    const Losses& losses_;
    std::vector<std::optional<std::size_t>> at_; ///< of each spec: where it is in the losses
};

class Maker {
public:
    Maker(OptionRequest& request, const StoredSizes& sizes, const Losses& losses, Options& out)
        : request_(request), sizes_(sizes), losses_(losses, out.specs), times_(request, out.specs), out_(out) {
        for (const QuantSpec& spec : out.specs) places_.push_back(*sizes.find(spec));
    }

    Result<void> make() {
        auto units = unitsOf(request_, sizes_, out_.remarks);
        if (!units) return tl::unexpected(units.error());
        out_.units = std::move(*units);
        out_.fixedBytes = sizes_.bytes;
        for (const SizeLimit& limit : request_.limits) limits_.emplace_back(wideText(limit.regex));
        refused_.resize(out_.choices);
        isUntimed_.resize(out_.specs.size());
        together_ = refusedTogether(request_, sizes_, out_.units);
        const std::size_t all = out_.units.size();
        out_.of = OptionTable(all, all * std::max<std::size_t>(1, out_.choices), bool(request_.latencies));
        std::vector<bool> isPlanned(all);
        for (std::size_t u = 0; u < all; ++u)
            if (const auto lock = out_.units.rule(u)) {
                addLocked(u, request_.locks[*lock]);
                isPlanned[u] = true;
            } else
                isPlanned[u] = addFree(u);
        out_.units.keepOnly(isPlanned);
        times_.addFixed(out_);
        remark(all);
        if (out_.units.size() == 0) {
            const auto most = std::ranges::max_element(left_, {}, [](const auto& one) { return one.second.tensors; });
            std::string why = most == left_.end() ? "" : "; the reason of most: " + most->first;
            if (!out_.untimedSpecs.empty()) why += " " + howToMeasure();
            while (why.ends_with('.')) why.pop_back();
            return fail(fmt::format("There is no tensor to plan{}.", why));
        }
        return {};
    }

private:
    /// Why a unit cannot have a spec.
    struct Refusal {
        std::string reason;
        bool isLayout = true; ///< it is the layout that refuses
    };

    /// Null, or why the unit cannot have the spec. `isFree`: the plan would choose it, so all its figures must be known.
    std::optional<Refusal> fill(std::size_t unit, UnitOption& option, bool isFree) {
        for (const TensorInfo* tensor : out_.units.tensors(unit)) {
            const StoredSize size = sizes_.of(places_[option.spec], *tensor);
            if (!size.reason.empty()) return Refusal{size.reason};
            if (request_.target && times_.isProduct(*tensor))
                if (auto why = request_.target->whyNot(*tensor, times_.canonical(option.spec)); !why.empty())
                    return Refusal{fmt::format("the backend {} does not take it: {}",
                                               escapeForPeople(request_.target->backend, 60), why),
                                   false};
            const auto loss = losses_.find(*tensor, option.spec);
            if (!loss && isFree) return Refusal{losses_.whyMissing(*tensor)};
            if (auto why = times_.add(*tensor, option)) {
                isUntimed_[option.spec] = true;
                if (isFree && request_.needsTimes) return Refusal{std::move(*why), false};
            }
            option.bytes += size.bytes;
            if (loss)
                option.loss += loss->mean, option.error += loss->byChunk.value_or(0);
            else
                option.isMeasured = false;
        }
        if (!option.isMeasured) option.loss = option.error = 0;
        return {};
    }

    std::uint64_t keptBytes(std::size_t unit) const {
        std::uint64_t sum = 0;
        for (const TensorInfo* tensor : out_.units.tensors(unit)) sum += sizes_.kept(*tensor);
        return sum;
    }

    /// Bytes of the unit under a limit's spec; none: it cannot have it, so the limit says nothing.
    std::optional<std::uint64_t> limitOf(std::size_t unit, const SizeLimit& limit) const {
        std::uint64_t sum = 0;
        for (const TensorInfo* tensor : out_.units.tensors(unit)) {
            const StoredSize size = sizes_.of(*sizes_.find(limit.spec), *tensor);
            if (!size.reason.empty()) return {};
            sum += size.bytes;
        }
        return sum;
    }

    /// The indexes of the request's limits that are for the unit.
    std::vector<std::size_t> limitsOf(std::size_t unit) const {
        std::vector<std::size_t> out;
        for (std::size_t i = 0; i < limits_.size(); ++i)
            if (std::ranges::any_of(out_.units.tensors(unit), [&](const TensorInfo* tensor) {
                    return limits_[i].match(wideText(tensor->name)).hasMatch();
                }))
                out.push_back(i);
        return out;
    }

    void put(std::size_t unit, std::span<const UnitOption> options, std::span<const RefusedSpec> refused = {}) {
        out_.fixedBytes -= keptBytes(unit);
        for (const TensorInfo* tensor : out_.units.tensors(unit)) out_.matched += tensor->elements;
        out_.of.add(options, refused);
    }

    void addLocked(std::size_t unit, const TensorRule& lock) {
        UnitOption option{kKeep, keptBytes(unit), 0, 0, true};
        for (const TensorInfo* tensor : out_.units.tensors(unit)) times_.add(*tensor, option);
        if (const auto& spec = lock.spec) {
            UnitOption wanted{std::size_t(std::find(out_.specs.begin(), out_.specs.end(), *spec) - out_.specs.begin()),
                              0, 0, 0, true};
            if (const auto why = fill(unit, wanted, false))
                out_.remarks.push_back(fmt::format("{} is locked to {} and stays as it is: {}", out_.units.name(unit),
                                                   specText(*spec), why->reason));
            else
                option = wanted;
            if (!option.isMeasured) ++unmeasured_;
        }
        if (!option.isTimed) ++untimed_;
        put(unit, std::span(&option, 1));
    }

    /// False: no spec fits, so the plan does not have the unit.
    bool addFree(std::size_t unit) {
        const auto limits = limitsOf(unit);
        std::vector<UnitOption> options;
        std::vector<RefusedSpec> refused;
        for (std::size_t s = 0; s < out_.choices; ++s) {
            UnitOption option{s, 0, 0, 0, true};
            auto why = together_[s].empty() ? fill(unit, option, true) : std::optional(Refusal{together_[s]});
            for (const std::size_t i : limits) {
                const SizeLimit& limit = request_.limits[i];
                const auto bound = limitOf(unit, limit);
                if (!why && bound && (limit.isLeast ? option.bytes < *bound : option.bytes > *bound))
                    why = Refusal{fmt::format("the limit of {} is {}.", limit.regex, specText(limit.spec))};
            }
            if (!why) {
                options.push_back(option);
                continue;
            }
            if (refused_[s].first++ == 0) refused_[s].second = *why;
            refused.push_back({s, std::move(why->reason)});
        }
        if (options.empty()) {
            Left& left = left_[refused.empty() ? std::string() : refused.front().reason];
            if (left.count++ == 0) left.first = out_.units.name(unit);
            left.tensors += out_.units.tensors(unit).size();
        } else
            put(unit, options, refused);
        return !options.empty();
    }

    void remark(std::size_t units) {
        for (const auto& [reason, left] : left_)
            out_.remarks.push_back(fmt::format(
                "{}: {}",
                left.count == 1 ? fmt::format("{} stays as it is", left.first)
                                : fmt::format("{} and {} more units stay as they are", left.first, left.count - 1),
                reason.empty() ? "no spec fits." : reason));
        for (std::size_t s = 0; s < out_.choices; ++s)
            if (const auto& [count, why] = refused_[s]; count > left_.size() || (count > 0 && left_.empty()))
                out_.remarks.push_back(
                    fmt::format("{} is no choice for {} of {} units{}: {}", specText(out_.specs[s]), count, units,
                                why.isLayout ? fmt::format(" in the layout {}", out_.layout->id) : "", why.reason));
        if (unmeasured_ > 0)
            out_.remarks.push_back(
                fmt::format("{} locked to a spec whose loss was not measured: sums lack {}.",
                            unmeasured_ == 1 ? "1 unit is" : fmt::format("{} units are", unmeasured_),
                            unmeasured_ == 1 ? "it" : "them"));
        remarkTimes();
    }

    void remarkTimes() {
        for (std::size_t s = 0; s < isUntimed_.size(); ++s)
            if (isUntimed_[s]) out_.untimedSpecs.push_back(s);
        if (!request_.latencies) return;
        if (!out_.untimedSpecs.empty()) out_.remarks.push_back(howToMeasure());
        if (const std::size_t lacks = untimed_ + out_.fixedUntimed; lacks > 0)
            out_.remarks.push_back(fmt::format(
                "Times lack {}: no time was measured of what they are stored as or locked to.",
                lacks == 1 ? "1 locked unit or tensor" : fmt::format("{} locked units and tensors", lacks)));
        const auto& times = request_.latencies->times;
        const auto busy = std::ranges::count_if(times, [](const auto& one) { return one.second.busy; });
        if (busy > 0)
            out_.remarks.push_back(
                fmt::format("{} of {} times were taken on a busy machine: they are too long.", busy, times.size()));
    }

    std::string howToMeasure() const {
        std::vector<QuantSpec> specs;
        for (const std::size_t s : out_.untimedSpecs) specs.push_back(out_.specs[s]);
        return fmt::format(
            "Times of {} are not measured for every tensor: `{}` measures them.",
            specs.size() == 1 ? specText(specs.front()) : fmt::format("{} specs", specs.size()),
            benchCommand(*request_.model, request_.latencies->where.backend, request_.latencies->m, specs));
    }

    OptionRequest& request_;
    const StoredSizes& sizes_;
    KnownLosses losses_;
    KnownTimes times_;
    Options& out_;
    std::vector<std::size_t> places_;        ///< of each spec in the sizes
    std::vector<QRegularExpression> limits_; ///< of the request
    struct Left {
        std::string first; ///< name of a unit
        std::size_t count = 0, tensors = 0;
    };
    std::map<std::string, Left> left_;                     ///< units that no spec fits, by the reason
    std::vector<std::pair<std::size_t, Refusal>> refused_; ///< of each spec: units, the first reason
    std::vector<std::string> together_;                    ///< see refusedTogether()
    std::vector<bool> isUntimed_;                          ///< of each spec: some unit has no time under it
    std::size_t unmeasured_ = 0, untimed_ = 0;             ///< locked units
};

} // namespace

bool Options::isEverywhere(std::size_t spec) const {
    for (std::size_t u = 0; u < units.size(); ++u)
        if (units.lock(u).empty() && std::ranges::none_of(of[u], [&](const UnitOption& o) { return o.spec == spec; }))
            return false;
    return true;
}

std::uint64_t Options::leastBytes() const { return sumOf(*this, fixedBytes, &UnitOption::bytes, true); }
std::uint64_t Options::mostBytes() const { return sumOf(*this, fixedBytes, &UnitOption::bytes, false); }
std::uint64_t Options::leastNs() const { return sumOf(*this, fixedNs, &UnitOption::ns, true); }
std::uint64_t Options::mostNs() const { return sumOf(*this, fixedNs, &UnitOption::ns, false); }

std::vector<QuantSpec> OptionRequest::allSpecs() const {
    auto out = specs;
    const auto add = [&](const QuantSpec& spec) { addOnce(out, spec); };
    for (const TensorRule& lock : locks)
        if (lock.spec) add(*lock.spec);
    for (const SizeLimit& limit : limits) add(limit.spec);
    return out;
}

Result<Options> planOptions(OptionRequest request, const StoredSizes& sizes, const Losses& losses) {
    Options out;
    out.model = request.model, out.layout = sizes.layout, out.elements = sizes.elements;
    out.specs = request.allSpecs(), out.choices = request.specs.size();
    out.latencies = request.latencies, out.target = request.target;
    if (out.specs.size() > kMostSpecs) return fail(fmt::format("A plan chooses from at most {} specs.", kMostSpecs));
    for (const QuantSpec& spec : out.specs)
        if (!sizes.find(spec)) return fail(fmt::format("The bytes of {} are not known.", specText(spec)));
    if (auto made = Maker(request, sizes, losses, out).make(); !made) return tl::unexpected(made.error());
    return out;
}

Result<SizeLimit> parseLimit(std::string_view text) {
    const auto sign = std::max(text.rfind(">=") + 1, text.rfind("<=") + 1); // the last; none: npos + 1 is 0
    if (sign < 2)
        return fail(
            fmt::format("'{}' is no limit: REGEX>=SPEC, as in down_proj>=int6, or REGEX<=SPEC", escapeForPeople(text)));
    auto spec = parseSpec(text.substr(sign + 1));
    if (!spec) return failAt(fmt::format("the limit '{}'", escapeForPeople(text)), std::move(spec.error()));
    return SizeLimit{std::string(text.substr(0, sign - 1)), std::move(*spec), text[sign - 1] == '>'};
}

std::string limitText(const SizeLimit& limit) {
    return limit.regex + (limit.isLeast ? ">=" : "<=") + specText(limit.spec);
}

} // namespace qs::plan
