// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/conventions/convention.h"

#include "core/base/text.h"
#include "core/model/conventions/checkpoint.h"

#include <fmt/format.h>
#include <vector>

namespace qs {

std::span<const Convention> conventions() {
    static const Convention all[] = {kBnb4Convention,      kBnb8Convention,       kGptqConvention,
                                     kAwqConvention,       kCompressedConvention, kMlxConvention,
                                     kFp8BlocksConvention, kMxfp4BlocksConvention};
    return all;
}

void deriveLayers(Model& model) {
    // One pass over the names, of which there may be a million; then convention by convention.
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
    if (any) {
        Checkpoint checkpoint(model);
        for (std::size_t c = 0; c < rows.size(); ++c)
            for (const Hit& hit : hits[c])
                if (checkpoint.find(hit.field->name)) rows[c].take(checkpoint, *hit.field, hit.end);
        checkpoint.finish(model);
        return;
    }
    // No field of a convention is there, but the file beside the weights may say that they are quantized.
    const bool isSafetensors =
        model.format == "safetensors" || model.format == "safetensors-index" || model.format == "huggingface";
    const auto config = isSafetensors ? readCheckpointConfig(model) : CheckpointConfig();
    if (!config.method.empty())
        model.warnings.push_back(
            fmt::format("{} says that the weights are quantized by '{}', but none is stored in a way "
                        "that this version decodes; they are listed as they are stored.",
                        config.file, escapeForPeople(config.method, 60)));
}

} // namespace qs
