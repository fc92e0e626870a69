// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/plan/options.h"

#include "core/base/text.h"
#include "core/base/wide_text.h"

#include <QRegularExpression>
#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <unordered_map>
#include <utility>

namespace qs::plan {
namespace {

constexpr UsualGroup kUsualGroups[] = {{"qkv", "q, k, v", "(q|k|v)_proj"},
                                       {"gate_up", "gate, up", "(gate|up)_proj"},
                                       {"experts", "experts", "experts\\.\\d+"}};

Result<QRegularExpression> compiled(const std::string& text, const char* what) {
    QRegularExpression regex(wideText(text));
    if (!regex.isValid())
        return fail(fmt::format("The {} '{}' is not a regular expression: {} at character {}.", what,
                                escapeForPeople(text, 80), regex.errorString().toStdString(),
                                regex.patternErrorOffset()));
    return regex;
}

struct Group {
    QRegularExpression names;
    bool mayStay = false; ///< see JoinedMatrices
};

Result<std::vector<Group>> groupsOf(const OptionRequest& request, const Layout& layout) {
    std::vector<JoinedMatrices> all(layout.joins.begin(), layout.joins.end()); // what readers demand comes first
    for (const std::string& text : request.groups) all.push_back({text.c_str()});
    std::vector<Group> out;
    for (const JoinedMatrices& one : all) {
        auto regex = compiled(one.regex, "group");
        if (!regex) return tl::unexpected(regex.error());
        out.push_back({std::move(*regex), one.mayStay});
    }
    return out;
}

/// Whether a tensor stays as it is, and who says so.
enum class Stays { No, ByLock, InLayout };

/// The name without what the first matching group expression matches; the name itself where none does.
std::string groupKey(const std::string& name, const std::vector<Group>& groups, Stays stays) {
    if (groups.empty() || stays == Stays::InLayout) return name;
    QString text = wideText(name);
    for (std::size_t i = 0; i < groups.size(); ++i) {
        if (stays == Stays::ByLock && groups[i].mayStay) continue;
        if (text.contains(groups[i].names)) return fmt::format("{}\n{}", i, text.remove(groups[i].names).toStdString());
    }
    return name;
}

/// Tensors that are the same stored data get the place of the first of them.
class TiedPlaces {
public:
    explicit TiedPlaces(const std::vector<const TensorInfo*>& tensors) {
        // A model may have a million tensors, and hardly any of them share their data: only those are kept.
        const auto data = [](const TensorInfo* tensor) {
            return std::tuple(tensor->file, tensor->offset, tensor->bytes);
        };
        std::vector<const TensorInfo*> stored;
        stored.reserve(tensors.size());
        for (const TensorInfo* tensor : tensors)
            if (!tensor->derived && tensor->bytes > 0) stored.push_back(tensor);
        std::ranges::sort(stored, {}, data);
        for (std::size_t i = 1; i < stored.size(); ++i)
            if (data(stored[i - 1]) == data(stored[i])) shared_.insert({stored[i - 1], stored[i]});
    }
    std::size_t of(const TensorInfo& tensor, const std::vector<Group>& groups, Stays stays, std::size_t next) {
        const bool isShared = shared_.contains(&tensor);
        if (groups.empty() && !isShared) return next; // no other tensor has its name
        const auto [place, isNew] = byKey_.emplace(groupKey(tensor.name, groups, stays), next);
        if (!isShared) return place->second;
        const auto [tied, isFirst] =
            byData_.emplace(std::tuple(tensor.file, tensor.offset, tensor.bytes), place->second);
        if (!isFirst && isNew) place->second = tied->second;
        return tied->second;
    }

private:
    std::set<const TensorInfo*> shared_; ///< whose data is that of another tensor too
    std::unordered_map<std::string, std::size_t> byKey_;
    std::map<std::tuple<std::uint32_t, std::uint64_t, std::uint64_t>, std::size_t> byData_;
};

std::string textOf(const TensorRule& rule) { return rule.regex + '=' + (rule.spec ? specText(*rule.spec) : "keep"); }

/// Of each tensor the number of its unit, before locks.
std::vector<std::uint32_t> placesOf(const std::vector<const TensorInfo*>& tensors, const std::vector<Group>& groups,
                                    const std::function<Stays(const TensorInfo&)>& stays) {
    std::vector<std::uint32_t> out;
    out.reserve(tensors.size());
    TiedPlaces places(tensors);
    std::size_t units = 0;
    for (const TensorInfo* tensor : tensors) {
        const std::size_t place = places.of(*tensor, groups, groups.empty() ? Stays::No : stays(*tensor), units);
        out.push_back(std::uint32_t(place));
        units = std::max(units, place + 1);
    }
    return out;
}

} // namespace

std::span<const UsualGroup> usualGroups() { return kUsualGroups; }

PlanUnits::PlanUnits(std::vector<const TensorInfo*> tensors, const std::vector<std::uint32_t>& place) {
    const std::size_t units = place.empty() ? 0 : *std::ranges::max_element(place) + 1;
    lockOf_ = RareValues<std::uint32_t>(units);
    first_.assign(units + 1, 0);
    for (const std::uint32_t at : place) ++first_[at + 1];
    std::partial_sum(first_.begin(), first_.end(), first_.begin());
    if (!std::ranges::is_sorted(place)) {
        std::vector<std::uint32_t> next(first_);
        std::vector<const TensorInfo*> sorted(tensors.size());
        for (std::size_t i = 0; i < tensors.size(); ++i) sorted[next[place[i]]++] = tensors[i];
        tensors = std::move(sorted);
    }
    tensors_ = std::move(tensors);
}

std::string PlanUnits::name(std::size_t unit) const {
    const auto all = tensors(unit);
    const TensorName& first = all.front()->name;
    return all.size() == 1 ? first.text() : fmt::format("{} and {} more", first, all.size() - 1);
}

std::optional<std::size_t> PlanUnits::rule(std::size_t unit) const {
    const std::uint32_t lock = lockOf_[unit];
    return lock == 0 ? std::nullopt : std::optional<std::size_t>(lock - 1);
}

void PlanUnits::setLocks(const RuleBook& book, std::vector<std::string>& remarks) {
    const std::vector<TensorRule>& rules = book.rules();
    if (rules.empty()) return;
    std::vector<std::uint32_t> locks; // of each tensor, as lockOf_
    locks.reserve(tensors_.size());
    for (const TensorInfo* tensor : tensors_) {
        const TensorRule* rule = book.first(tensor->name);
        locks.push_back(rule ? std::uint32_t(rule - rules.data()) + 1 : 0);
    }
    std::vector<std::uint32_t> first{0}, lockOf;
    for (std::size_t u = 0; u < size(); ++u) {
        const auto all = std::span(locks).subspan(first_[u], first_[u + 1] - first_[u]);
        const auto said = std::ranges::find_if(all, [](std::uint32_t lock) { return lock != 0; });
        const bool differ = std::any_of(said, all.end(), [&](std::uint32_t lock) {
            return lock != 0 && rules[lock - 1].spec != rules[*said - 1].spec;
        });
        if (differ) remarks.push_back(fmt::format("Locks of {} differ, so they do not get one spec.", name(u)));
        for (std::size_t i = 0; differ && i + 1 < all.size(); ++i) {
            lockOf.push_back(all[i]);
            first.push_back(first.back() + 1);
        }
        lockOf.push_back(differ ? all.back() : said == all.end() ? 0 : *said);
        first.push_back(first_[u + 1]);
    }
    first_ = std::move(first);
    lockOf_ = RareValues<std::uint32_t>(size());
    for (std::size_t u = 0; u < size(); ++u) lockOf_.set(u, lockOf[u]);
    for (const TensorRule& rule : rules) lockTexts_.push_back(textOf(rule));
}

void PlanUnits::keepOnly(const std::vector<bool>& wanted) {
    std::uint32_t units = 0, end = 0; // of those that stay
    for (std::size_t u = 0; u < wanted.size(); ++u) {
        if (!wanted[u]) continue;
        const auto from = tensors(u); // not before the place that it goes to
        lockOf_.set(units, lockOf_[u]);
        first_[units++] = end;
        for (const TensorInfo* tensor : from) tensors_[end++] = tensor;
    }
    first_[units] = end;
    first_.resize(units + 1), tensors_.resize(end);
}

Result<PlanUnits> unitsOf(OptionRequest& request, const StoredSizes& sizes, std::vector<std::string>& remarks) {
    const auto groups = groupsOf(request, *sizes.layout);
    if (!groups) return tl::unexpected(groups.error());
    for (const TensorRule& lock : request.locks)
        if (auto regex = compiled(lock.regex, "lock"); !regex) return tl::unexpected(regex.error());
    for (const SizeLimit& limit : request.limits)
        if (auto regex = compiled(limit.regex, "limit"); !regex) return tl::unexpected(regex.error());
    const auto book = RuleBook::of(request.locks);
    if (!book) return tl::unexpected(book.error());
    std::vector<std::size_t> specs;
    for (const QuantSpec& spec : request.specs) specs.push_back(*sizes.find(spec));
    const auto places = placesOf(request.tensors, *groups, [&](const TensorInfo& tensor) {
        const TensorRule* lock = book->first(tensor.name);
        if (lock && !lock->spec) return Stays::ByLock;
        const bool isKept = std::ranges::all_of(specs, [&](std::size_t at) { return sizes.of(at, tensor).stays; });
        return isKept ? Stays::InLayout : Stays::No;
    });
    PlanUnits units(std::exchange(request.tensors, {}), places);
    units.setLocks(*book, remarks);
    return units;
}

} // namespace qs::plan
