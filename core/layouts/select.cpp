// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/layouts/select.h"

#include "core/base/text.h"
#include "core/layouts/layout.h"

#include <fmt/format.h>
#include <unordered_set>

namespace qs {

Result<std::vector<const TensorInfo*>> selectAny(const Model& model, const std::vector<std::string>& filters) {
    std::vector<const TensorInfo*> taken;
    if (filters.empty()) {
        auto all = selectTensors(model, {});
        if (!all) return all;
        taken = std::move(*all);
        if (taken.empty())
            return fail(
                model.undecoded.empty()
                    ? fmt::format("{} holds no float tensor of rank 2 or more; choose among its {} tensors with "
                                  "--tensor.",
                                  escapeForPeople(model.path, 160), model.tensors.size())
                    : fmt::format("{} holds no matrix that is decoded. {}", escapeForPeople(model.path, 160),
                                  leftOutSentence(model)),
                model.path);
        return taken;
    }
    std::unordered_set<const TensorInfo*> any;
    for (const auto& filter : filters) {
        auto matched = selectTensors(model, filter);
        if (!matched) return matched;
        any.insert(matched->begin(), matched->end());
    }
    for (const auto& tensor : model.tensors)
        if (any.contains(&tensor)) taken.push_back(&tensor);
    if (taken.empty())
        return fail(fmt::format("No tensor of {} matches --tensor {}; inspect lists its {} tensors{}.",
                                escapeForPeople(model.path, 160), escapeForPeople(filters.front(), 100),
                                model.tensors.size(),
                                model.undecoded.empty() ? "" : ". Parts of quantized layers are not taken"),
                    model.path);
    return taken;
}

std::string joinedFilters(const std::vector<std::string>& filters) {
    if (filters.size() == 1) return filters.front();
    std::string out;
    for (const auto& filter : filters) out += (out.empty() ? "(?:" : "|(?:") + filter + ")";
    return out;
}

} // namespace qs
