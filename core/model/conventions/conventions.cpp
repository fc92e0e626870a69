// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/conventions/convention.h"

#include "core/base/rows.h"
#include "core/base/text.h"
#include "core/model/conventions/checkpoint.h"
#include "core/model/conventions/undecoded.h"
#include "core/model/derived_tensor.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <vector>

namespace qs {

std::span<const Convention> conventions() {
    // Those that a marker tensor proves come first: their fields have the names of others too.
    static const Convention all[] = {kComfyFp8,
                                     kComfyNvfp4,
                                     kComfyMxfp8,
                                     kComfyInt8,
                                     kComfyInt8Rotated,
                                     kComfyInt4Rotated,
                                     kComfyW4A8,
                                     kComfySvdQuant,
                                     kComfyAwq,
                                     kComfyScaledFp8,
                                     kBnb4Convention,
                                     kBnb8Convention,
                                     kGptqConvention,
                                     kGptq2Convention,
                                     kAwqConvention,
                                     kBitnetConvention,
                                     kCompressedConvention,
                                     kMlxConvention,
                                     kFp8BlocksConvention,
                                     kFp8ScaleConvention,
                                     kMxfp4BlocksConvention,
                                     kHqqConvention,
                                     kModelOptConvention,
                                     kTorchAoConvention,
                                     kQuantoConvention,
                                     kKerasConvention};
    return all;
}

const Convention* findConvention(std::string_view id) { return rowOf(conventions(), id); }

std::string unknownConvention(std::string_view id) {
    std::string ids;
    for (const Convention& one : conventions()) ids += (ids.empty() ? "" : ", ") + std::string(one.id);
    return fmt::format("there is no convention '{}' ({})", escapeForPeople(id, 40), ids);
}

namespace {

bool isOf(const TensorInfo& tensor, const Convention& convention) {
    return tensor.derived && std::ranges::any_of(convention.types, [&](const char* type) {
               return std::string_view(type) == tensor.derived->typeId();
           });
}

} // namespace

void deriveLayers(Model& model, const Convention* as) {
    if (model.format == "onnx") { // in ONNX the graph decides what tensors mean, not their names
        markParts(model);
        return;
    }
    // One pass over all names, because there may be many. Then each convention takes its layers.
    struct Hit {
        const TensorInfo* field;
        std::string_view end;
    };
    const auto rows = conventions();
    std::vector<std::vector<Hit>> hits(rows.size());
    bool any = false;
    for (const TensorInfo& tensor : model.tensors) {
        if (tensor.packed || tensor.derived) continue;
        for (std::size_t c = 0; c < rows.size(); ++c)
            for (const std::string_view end : rows[c].ends)
                if (tensor.name.ends_with(end)) {
                    hits[c].push_back({&tensor, end});
                    any = true;
                    break;
                }
    }
    CheckpointConfig config;
    if (any) {
        std::vector<std::size_t> order(rows.size());
        std::iota(order.begin(), order.end(), std::size_t(0));
        std::ranges::stable_partition(order,
                                      [&](std::size_t c) { return as && std::string_view(rows[c].id) == as->id; });
        Checkpoint checkpoint(model, as);
        for (const std::size_t c : order)
            for (const Hit& hit : hits[c])
                if (checkpoint.find(hit.field->name)) rows[c].take(checkpoint, *hit.field, hit.end);
        checkpoint.finish(model);
        config = checkpoint.config();
    } else if (model.format == "safetensors" || model.format == "safetensors-index" || model.format == "huggingface") {
        config = readCheckpointConfig(model);
    }
    addUndecoded(model, config);
    markParts(model);
    if (as && std::ranges::none_of(model.tensors, [&](const TensorInfo& tensor) { return isOf(tensor, *as); }))
        model.warnings.push_back(fmt::format("{} has no layer that can be read as {}.", shownPath(model.path), as->id));
}

} // namespace qs
