// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/plan/sizes.h"

#include "core/base/text.h"
#include "core/export/recipe_sizes.h"
#include "core/layouts/taken_tensors.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs::plan {
std::optional<std::size_t> StoredSizes::find(const QuantSpec& spec) const {
    const auto found = std::find(specs.begin(), specs.end(), spec);
    return found == specs.end() ? std::nullopt : std::optional(std::size_t(found - specs.begin()));
}

Result<StoredSizes> StoredSizes::asStored(std::shared_ptr<const Model> model, const Layout& layout, const Job& job) {
    StoredSizes out;
    out.model = std::move(model), out.layout = &layout;
    out.keptMore_ = RareValues<std::uint64_t>(out.model->tensors.size());
    QuantizeRequest request;
    request.layout = layout.id, request.keepsRest = true;
    std::size_t at = 0;
    const auto done = eachPlanned(
        *out.model, request,
        [&](const PlannedTensor& row) {
            out.elements += row.elements, out.bytes += row.bytes;
            out.keptMore_.set(at, row.bytes - out.model->tensors[at].bytes);
            ++at;
        },
        job);
    return done ? Result<StoredSizes>(std::move(out)) : tl::unexpected(done.error());
}

Result<void> StoredSizes::add(const QuantSpec& spec, const Job& job) {
    if (find(spec)) return {};
    const std::size_t tensors = model->tensors.size();
    OfSpec rows{{}, RareValues<std::uint32_t>(tensors), RareValues<bool>(tensors)};
    rows.bytes.reserve(tensors);
    QuantizeRequest request;
    request.layout = layout->id, request.spec = spec, request.skipRefused = true;
    auto done = eachPlanned(
        *model, request,
        [&](const PlannedTensor& row) {
            const std::size_t at = rows.bytes.size();
            rows.bytes.push_back(row.bytes);
            if (row.becomes != Becomes::Quantized)
                rows.reason.set(at, reasons_.idOf(row.reason.empty() ? "it is not quantized." : row.reason));
            rows.stays.set(at, row.becomes == Becomes::Stays);
        },
        job);
    if (!done) return done;
    specs.push_back(spec);
    of_.push_back(std::move(rows));
    return {};
}

StoredSize StoredSizes::of(std::size_t spec, const TensorInfo& tensor) const {
    const std::size_t at = indexOf(tensor);
    const OfSpec& rows = of_[spec];
    return {rows.bytes[at], reasons_.text(rows.reason[at]), rows.stays[at]};
}

Result<const Layout*> plannedLayout(const Model& model, const TensorInfo* example, const std::vector<QuantSpec>& specs,
                                    const std::string& layout) {
    const Layout* found = layout.empty() ? &countedLayout(model, example, specs) : findLayout(layout);
    if (!found) return fail(fmt::format("There is no layout '{}'.", escapeForPeople(layout, 60)));
    if (auto fine = checkModel(model, *found); !fine && !layout.empty()) return tl::unexpected(fine.error());
    return found;
}

Result<StoredSizes> storedSizes(std::shared_ptr<const Model> model, const TensorInfo* example,
                                const std::vector<QuantSpec>& specs, const std::string& layout, const Job& job) {
    const auto found = plannedLayout(*model, example, specs, layout);
    if (!found) return tl::unexpected(found.error());
    auto out = StoredSizes::asStored(std::move(model), **found, job);
    if (!out) return out;
    for (const QuantSpec& spec : specs)
        if (auto done = out->add(spec, job); !done) return tl::unexpected(done.error());
    return out;
}

} // namespace qs::plan
