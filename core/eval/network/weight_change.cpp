// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/network/weight_change.h"

#include "core/base/text.h"
#include "core/layouts/conv1d.h"
#include "core/layouts/model_fields.h"
#include "core/layouts/read_values.h"
#include "core/layouts/serve.h"
#include "core/layouts/taken_tensors.h"
#include "core/model/derived_tensor.h"
#include "core/quant/encode/quantizer.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <fmt/format.h>
#include <set>
#include <unordered_set>

namespace qs::eval {
namespace {

Result<std::vector<float>> roundtrip(const TensorView& stored, const QuantSpec& spec, const Job& job) {
    const auto quantized = quantizeTensor(stored, spec, job);
    if (!quantized) return tl::unexpected(quantized.error());
    return materialize(*quantized);
}

/// [rows, columns] -> [columns, rows], elements of `size` bytes.
std::vector<std::byte> transposed(std::span<const std::byte> from, std::size_t rows, std::size_t columns,
                                  std::size_t size) {
    std::vector<std::byte> out(from.size());
    for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t c = 0; c < columns; ++c)
            std::memcpy(&out[(c * rows + r) * size], &from[(r * columns + c) * size], size);
    return out;
}

/// The values that the layout's reader gives.
Result<std::vector<float>> readBackOf(const TensorView& stored, const QuantSpec& spec, const Layout& layout,
                                      const Job& job) {
    auto measured = MeasuredTensor::of(stored, spec, job);
    if (!measured) return tl::unexpected(measured.error());
    if (spec.effectiveNan() != NanPolicy::Skip) measured->refuseNonFinite(std::make_shared<std::atomic<bool>>(false));
    auto made = inLayout(layout, std::move(*measured));
    if (!made) return tl::unexpected(made.error());
    return readBack(*made, layout);
}

/// The same of the transposed matrix, which the layout writes; the result has the shape of the original.
Result<std::vector<float>> readBackTurned(const TensorView& stored, const QuantSpec& spec, const Layout& layout,
                                          const Job& job) {
    const TensorInfo& tensor = *stored.info;
    const auto rows = std::size_t(tensor.shape.front()), columns = std::size_t(tensor.shape.back());
    TensorInfo other = asWritten(layout, tensor);
    other.offset = 0;
    std::vector<std::byte> bytes(tensor.bytes);
    stored.readInto(0, bytes);
    bytes = transposed(bytes, rows, columns, std::size_t(info(tensor.dtype).bits) / 8);
    const auto values = readBackOf({&other, bytes, nullptr}, spec, layout, job);
    if (!values) return values;
    std::vector<float> out(values->size());
    const auto turned = transposed(std::as_bytes(std::span(*values)), columns, rows, sizeof(float));
    std::memcpy(out.data(), turned.data(), turned.size());
    return out;
}

/// Vectors are used as they are stored. Kernels of convolutions have no part in the text, but a size.
bool hasMatrices(const TensorInfo& tensor) { return tensor.shape.size() >= 2; }

/// The scope with the values that readers of the layout give. Where it refuses the request, the scope is as it is, with the
/// refusal; but an error where that layout is asked for and refuses the model as a whole.
Result<SpecScope> readFrom(const Layout* followed, const Model& model, SpecScope scope,
                           const QuantizeRequest& request) {
    const Layout* layout = scope.layout ? scope.layout : followed;
    if (!layout) return scope;
    const RefusedRequest refused = refusalOf(model, request, *layout);
    if (scope.layout && refused.whole) return tl::unexpected(*refused.whole);
    scope.model = &model;
    if (!scope.layout && refused.any())
        scope.refusal = refusedBy(*layout, *refused.any());
    else
        scope.layout = layout;
    return scope;
}

} // namespace

bool SpecScope::covers(const TensorInfo& tensor) const {
    const bool isTaken = takes ? takes(tensor) : tensor.isWeight();
    return isTaken && (!layout || leftAlone(model, {&tensor, nullptr, named}, *layout));
}

Result<SpecScope> scopeOf(const Model& model, const std::vector<std::string>& filters, const std::string& layout) {
    SpecScope out;
    out.asStored = true, out.model = &model, out.choice = TensorChoice(filters);
    if (!layout.empty()) out.layout = findLayout(layout);
    if (!layout.empty() && !out.layout)
        return fail(fmt::format("there is no layout '{}'; `layouts` lists them", escapeForPeople(layout, 40)));
    if (out.layout)
        if (auto fine = checkModel(model, *out.layout); !fine) return tl::unexpected(fine.error());
    if (filters.empty()) return out;
    const auto chosen = selectAny(model, out.choice);
    if (!chosen) return tl::unexpected(chosen.error());
    if (std::ranges::none_of(*chosen, [](const TensorInfo* tensor) { return hasMatrices(*tensor); }))
        return fail(fmt::format("--tensor {} takes no matrix, and an evaluation changes matrices alone",
                                escapeForPeople(filters.front(), 80)));
    const auto taken = std::make_shared<const std::unordered_set<const TensorInfo*>>(chosen->begin(), chosen->end());
    out.named = true;
    out.takes = [taken](const TensorInfo& tensor) { return taken->contains(&tensor); };
    return out;
}

Result<SpecScope> scopeOfSpec(const Model& model, SpecScope scope, const QuantSpec& spec) {
    if (!scope.follows) return scope;
    QuantizeRequest request;
    request.spec = spec, request.choice = scope.choice;
    SpecScope stored = scope;
    stored.layout = followedLayout(model, spec), stored.model = &model;
    if (!scope.layout && stored.layout)
        scope.takes = [stored](const TensorInfo& tensor) { return stored.covers(tensor); };
    return readFrom(stored.layout, model, std::move(scope), request);
}

Result<WeightChange> quantizedAsAsked(const Model& model, std::string name, std::string detail,
                                      const QuantizeRequest& request, SpecScope scope) {
    const Layout* followed = scope.layout ? nullptr : followedLayout(model, request);
    auto asked = askedSpecs(model, request, scope.layout ? scope.layout : followed);
    if (!asked) return tl::unexpected(asked.error());
    if (asked->all.empty()) return fail(fmt::format("{} quantizes no matrix of this model.", name), model.path);
    scope.named = true; // what the layout leaves alone has no spec
    auto read = readFrom(followed, model, std::move(scope), request);
    if (!read) return tl::unexpected(read.error());
    return quantizedBy(std::move(name), std::move(detail), std::move(asked->of), std::move(*read));
}

WeightChange quantizedBy(std::string name, std::string detail,
                         std::function<const QuantSpec*(const TensorInfo& tensor)> specOf, SpecScope scope) {
    WeightChange change;
    change.name = std::move(name), change.detail = std::move(detail);
    change.everywhere = change.isRecipe = true;
    change.layout = scope.layout, change.remark = scope.refusal;
    if (scope.layout) change.detail += fmt::format(" in layout {}", scope.layout->id);
    change.specOf = specOf;
    change.byFirstAxis = [specOf](const TensorInfo& tensor) { return quantizesByFirstAxis(*specOf(tensor), tensor); };
    change.touches = [specOf, layout = scope.layout, model = scope.model,
                      named = scope.named](const TensorInfo& tensor) {
        const QuantSpec* spec = hasMatrices(tensor) ? specOf(tensor) : nullptr;
        return spec && (!layout || leftAlone(model, {&tensor, spec, named}, *layout));
    };
    change.values = [specOf, layout = scope.layout,
                     rounds = scope.asStored](const TensorInfo& tensor, const TensorView& stored,
                                              const Job& job) -> Result<std::vector<float>> {
        const QuantSpec& spec = *specOf(tensor);
        if (layout) {
            if (auto fine = checkWritable(tensor, spec, *layout); !fine) return tl::unexpected(fine.error());
            return isTurned(*layout, tensor) ? readBackTurned(stored, spec, *layout, job)
                                             : readBackOf(stored, spec, *layout, job);
        }
        auto values = roundtrip(stored, spec, job);
        if (values && rounds) roundTo(tensor.dtype, values->data(), values->size());
        return values;
    };
    return change;
}

WeightChange quantizedAs(QuantSpec spec, SpecScope scope) {
    const std::string name = specText(spec), detail = canonicalText(spec);
    const auto shared = std::make_shared<const QuantSpec>(std::move(spec));
    const auto specOf = [shared, takes = scope.takes](const TensorInfo& tensor) -> const QuantSpec* {
        return (takes ? takes(tensor) : tensor.isWeight()) ? shared.get() : nullptr;
    };
    const bool rounds = scope.asStored;
    WeightChange change = quantizedBy(name, detail, specOf, std::move(scope));
    // An expert of a tensor comes as a tensor of its own, which no scope knows.
    const auto ofAll = [shared](const TensorInfo&) { return shared.get(); };
    WeightChange any = quantizedBy(name, detail, ofAll, {.layout = change.layout, .asStored = rounds});
    change.values = std::move(any.values), change.byFirstAxis = std::move(any.byFirstAxis);
    change.isRecipe = false;
    return change;
}

WeightChange replacedBy(std::shared_ptr<const Model> network, std::string name) {
    WeightChange change;
    change.name = std::move(name), change.detail = network->path;
    change.network = std::move(network);
    return change;
}

Result<std::uint64_t> bytesUnder(const Model& model, const TensorInfo& tensor, const QuantSpec& spec,
                                 const Layout* layout, const Job& job) {
    if (!layout) {
        const auto size = storedSize(spec, tensor);
        if (!size) return tl::unexpected(size.error());
        return size->total();
    }
    return bytesInLayout(model, tensor, spec, *layout, job);
}

Result<void> measureSizes(const Model& model, std::vector<WeightChange>& changes, const Job& job) {
    for (WeightChange& change : changes) {
        if (change.size || !change.specOf) continue;
        ChangedSize out;
        bool fits = true;
        for (const TensorInfo& tensor : model.tensors) {
            const std::uint64_t before = storedBytes(tensor);
            out.allElements += tensor.elements, out.allBytes += before;
            if (!fits || !change.touches(tensor)) continue;
            const auto bytes = bytesUnder(model, tensor, *change.specOf(tensor), change.layout, job);
            if (!bytes && bytes.error().cancelled) return tl::unexpected(bytes.error());
            fits = bytes.has_value();
            ++out.matrices, out.elements += tensor.elements, out.bytes += bytes.value_or(0);
            out.allBytes += bytes.value_or(0) - before;
        }
        if (fits) change.size = out;
    }
    return {};
}

ChangedSize storedSizeOf(const Model& stored, const Model& decoded) {
    ChangedSize out;
    out.allBytes = stored.totalBytes();
    for (const TensorInfo& tensor : decoded.tensors) out.allElements += tensor.elements;
    const auto fields = storedFields(stored);
    std::set<std::string> wholes;
    for (const TensorInfo& tensor : stored.tensors) {
        const auto whole = fields.find(tensor.name);
        const bool isLayer = tensor.packed || (tensor.derived && tensor.derived->parts().size() > 1);
        if (whole == fields.end() && !isLayer) continue;
        out.bytes += storedBytes(tensor);
        if (whole != fields.end() && !wholes.insert(whole->second).second) continue;
        const TensorInfo* values = whole != fields.end() ? decoded.find(whole->second) : &tensor;
        ++out.matrices, out.elements += values ? values->elements : 0;
    }
    return out;
}

} // namespace qs::eval
