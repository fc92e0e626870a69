// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/plan/sizes.h"

#include "core/base/text.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs::plan {
namespace {

const Layout& layoutFor(const TensorInfo* example, const std::vector<QuantSpec>& specs) {
    const auto all = layouts();
    if (!example) return all.front();
    const auto taken = [&](const Layout& layout) {
        return std::ranges::count_if(
            specs, [&](const QuantSpec& spec) { return layout.accepts(spec, example->shape).has_value(); });
    };
    return *std::ranges::max_element(all, [&](const Layout& a, const Layout& b) { return taken(a) < taken(b); });
}

} // namespace

std::optional<std::size_t> StoredSizes::find(const QuantSpec& spec) const {
    const auto found = std::find(specs.begin(), specs.end(), spec);
    return found == specs.end() ? std::nullopt : std::optional(std::size_t(found - specs.begin()));
}

Result<void> StoredSizes::add(const QuantSpec& spec, const Job& job) {
    if (find(spec)) return {};
    QuantizeRequest request;
    request.layout = layout->id, request.spec = spec, request.skipRefused = true;
    const auto planned = planExport(*model, request, job);
    if (!planned) return tl::unexpected(planned.error());
    std::vector<One> rows;
    rows.reserve(planned->tensors.size());
    for (const PlannedTensor& row : planned->tensors) {
        const bool isTaken = row.becomes == Becomes::Quantized;
        rows.push_back({row.bytes,
                        isTaken              ? SharedText()
                        : row.reason.empty() ? SharedText("it is not quantized.")
                                             : SharedText(row.reason),
                        row.becomes == Becomes::Stays});
    }
    specs.push_back(spec);
    of.push_back(std::move(rows));
    return {};
}

Result<StoredSizes> storedSizes(std::shared_ptr<const Model> model, const TensorInfo* example,
                                const std::vector<QuantSpec>& specs, const std::string& layout, const Job& job) {
    StoredSizes out;
    out.model = std::move(model);
    out.layout = layout.empty() ? &layoutFor(example, specs) : findLayout(layout);
    if (!out.layout) return fail(fmt::format("There is no layout '{}'.", escapeForPeople(layout, 60)));
    QuantizeRequest request;
    request.layout = out.layout->id, request.keepsRest = true;
    { // the plan of an export takes much memory
        const auto kept = planExport(*out.model, request, job);
        if (!kept) return tl::unexpected(kept.error());
        out.elements = kept->elements, out.bytes = kept->bytes;
        out.kept.reserve(kept->tensors.size());
        for (const PlannedTensor& row : kept->tensors) out.kept.push_back(row.bytes);
    }
    for (const QuantSpec& spec : specs)
        if (auto done = out.add(spec, job); !done) return tl::unexpected(done.error());
    return out;
}

} // namespace qs::plan
