// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/plan/units.h"

#include "core/base/text.h"
#include "core/export/rule_book.h"

#include <QRegularExpression>
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>
#include <unordered_map>

namespace qs::plan {
namespace {

constexpr UsualGroup kUsualGroups[] = {{"qkv", "q, k, v", "(q|k|v)_proj"},
                                       {"gate_up", "gate, up", "(gate|up)_proj"},
                                       {"experts", "experts", "experts\\.\\d+"}};

Result<QRegularExpression> compiled(const std::string& text, const char* what) {
    QRegularExpression regex(QString::fromStdString(text));
    if (!regex.isValid())
        return fail(fmt::format("The {} '{}' is not a regular expression: {} at character {}.", what,
                                escapeForPeople(text, 80), regex.errorString().toStdString(),
                                regex.patternErrorOffset()));
    return regex;
}

Result<std::vector<QRegularExpression>> groupsOf(const OptionRequest& request, const Layout& layout) {
    auto texts = request.groups;
    texts.insert(texts.begin(), layout.joins.begin(), layout.joins.end()); // what readers demand comes first
    std::vector<QRegularExpression> out;
    for (const auto& text : texts) {
        auto regex = compiled(text, "group");
        if (!regex) return tl::unexpected(regex.error());
        out.push_back(std::move(*regex));
    }
    return out;
}

/// The name without what the first matching group expression matches; the name itself where none does.
std::string groupKey(const std::string& name, const std::vector<QRegularExpression>& groups) {
    if (groups.empty()) return name;
    QString text = QString::fromStdString(name);
    for (std::size_t i = 0; i < groups.size(); ++i)
        if (text.contains(groups[i])) return fmt::format("{}\n{}", i, text.remove(groups[i]).toStdString());
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
    std::size_t of(const TensorInfo& tensor, const std::vector<QRegularExpression>& groups, std::size_t next) {
        const bool isShared = shared_.contains(&tensor);
        if (groups.empty() && !isShared) return next; // no other tensor has its name
        const auto [place, isNew] = byKey_.emplace(groupKey(tensor.name, groups), next);
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

void name(PlanUnit& unit) {
    unit.name = unit.tensors.front()->name;
    if (const std::size_t others = unit.tensors.size() - 1; others > 0)
        unit.name += fmt::format(" and {} more", others);
}

std::string textOf(const TensorRule& rule) { return rule.regex + '=' + (rule.spec ? specText(*rule.spec) : "keep"); }

/// The units of a group whose tensors have these locks.
std::vector<LockedUnit> withLocks(PlanUnit unit, const RuleBook& locks, std::vector<std::string>& remarks) {
    const TensorRule* lock = nullptr;
    bool differ = false;
    for (const TensorInfo* tensor : unit.tensors) {
        const TensorRule* one = locks.first(tensor->name);
        differ = differ || (one && lock && one->spec != lock->spec);
        if (one && !lock) lock = one;
    }
    if (!differ) {
        name(unit);
        if (lock) unit.lock = textOf(*lock);
        return {{std::move(unit), lock, {}}};
    }
    name(unit);
    remarks.push_back(fmt::format("Locks of {} differ, so they do not get one spec.", unit.name));
    std::vector<LockedUnit> out;
    for (const TensorInfo* tensor : unit.tensors) {
        const TensorRule* one = locks.first(tensor->name);
        out.push_back({{tensor->name, {tensor}, one ? textOf(*one) : std::string()}, one, {}});
    }
    return out;
}

} // namespace

std::span<const UsualGroup> usualGroups() { return kUsualGroups; }

Result<std::vector<LockedUnit>> unitsOf(const OptionRequest& request, const Layout& layout,
                                        std::vector<std::string>& remarks) {
    const auto groups = groupsOf(request, layout);
    if (!groups) return tl::unexpected(groups.error());
    for (const TensorRule& lock : request.locks)
        if (auto regex = compiled(lock.regex, "lock"); !regex) return tl::unexpected(regex.error());
    const auto locks = RuleBook::of(request.locks);
    std::vector<QRegularExpression> limits;
    for (const SizeLimit& limit : request.limits) {
        auto regex = compiled(limit.regex, "limit");
        if (!regex) return tl::unexpected(regex.error());
        limits.push_back(std::move(*regex));
    }
    std::vector<PlanUnit> grouped;
    grouped.reserve(request.tensors.size()); // pages that are never written use no memory
    TiedPlaces places(request.tensors);
    for (const TensorInfo* tensor : request.tensors) {
        const std::size_t place = places.of(*tensor, *groups, grouped.size());
        if (place == grouped.size()) grouped.emplace_back();
        grouped[place].tensors.push_back(tensor);
    }
    std::vector<LockedUnit> out;
    out.reserve(grouped.size());
    for (PlanUnit& unit : grouped)
        for (LockedUnit& one : withLocks(std::move(unit), *locks, remarks)) {
            if (const TensorRule* lock = one.lock) // of the request: the book is gone when this returns
                one.lock = request.locks.data() + (lock - locks->rules().data());
            for (std::size_t i = 0; i < limits.size(); ++i)
                if (std::ranges::any_of(one.unit.tensors, [&](const TensorInfo* tensor) {
                        return limits[i].match(QString::fromStdString(tensor->name)).hasMatch();
                    }))
                    one.limits.push_back(i);
            out.push_back(std::move(one));
        }
    return out;
}

} // namespace qs::plan
