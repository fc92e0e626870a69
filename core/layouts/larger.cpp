// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/layouts/larger.h"

#include "core/model/derived_tensor.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs {
namespace {

/// One scale per output channel.
QuantSpec perOutput(QuantSpec spec) {
    spec.axes.reset(), spec.block.reset(), spec.tiles.reset(), spec.flat.reset();
    spec.scale = ScaleSpelling::Default;
    spec.keepsOutput = true;
    return spec;
}

/// Blocks no longer than the rows that they are cut from.
QuantSpec fitting(QuantSpec spec, const TensorInfo& tensor) {
    const auto step = std::max(1u, spec.traits().blockMultiple);
    const auto row = std::uint64_t(std::max<std::int64_t>(1, tensor.lastAxis()));
    spec.block = std::uint32_t(std::min<std::uint64_t>(spec.blockSize(), (row + step - 1) / step * step));
    return spec;
}

QuantSpec flattened(QuantSpec spec) {
    spec.flat = true;
    return spec;
}

} // namespace

double sourceBits(const TensorInfo& tensor) {
    return tensor.elements ? 8.0 * double(storedBytes(tensor)) / double(tensor.elements) : 0.0;
}

std::optional<QuantSpec> smallerSpec(const QuantSpec& spec, const TensorInfo& tensor) {
    const auto own = storedSize(spec, tensor);
    if (!own || bitsPerWeight(*own, tensor.elements) <= sourceBits(tensor)) return std::nullopt; // the layout adds it
    std::vector<QuantSpec> tries;
    if (spec.scaleKind() == ScaleKind::Axes && !spec.keepsOutput) tries.push_back(perOutput(spec));
    if (spec.scaleKind() == ScaleKind::Block) {
        if (tensor.shape.size() <= 2) tries.push_back(fitting(spec, tensor));
        tries.push_back(flattened(spec));
        tries.push_back(perOutput(spec));
    }
    for (const QuantSpec& one : tries) {
        if (one == spec || !validate(one)) continue;
        const auto size = storedSize(one, tensor);
        if (size && bitsPerWeight(*size, tensor.elements) <= sourceBits(tensor)) return one;
    }
    return std::nullopt;
}

std::string largerText(const QuantSpec& spec, const TensorInfo& tensor, double bitsPerWeight) {
    const double source = sourceBits(tensor);
    if (tensor.elements == 0 || !(bitsPerWeight > source)) return {};
    const auto smaller = smallerSpec(spec, tensor);
    return fmt::format("stores {:.4f} bits per weight, more than the {:.4f} of the source ({}){}", bitsPerWeight,
                       source, tensor.typeId(), smaller ? ": use " + specText(*smaller) : std::string());
}

} // namespace qs
