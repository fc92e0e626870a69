// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/conventions/convention.h"

#include "core/base/tensor_name.h"
#include "core/base/text.h"
#include "core/model/conventions/checkpoint.h"

#include <fmt/format.h>
#include <vector>

namespace qs {
namespace {

/// Conventions that are recognised by a field name but not decoded.
struct Undecoded {
    std::string_view end;
    const char* title;
    const char* fields;
};
constexpr Undecoded kUndecoded[] = {
    {".pre_quant_scale", "NVIDIA ModelOpt (AWQ)", "P.weight beside P.weight_scale and P.pre_quant_scale"}};

/// How many layers of such a convention were seen, and the first of them.
struct Seen {
    std::string first;
    std::size_t count = 0;
};

/// Adds a warning per undecoded convention. Returns true if there was one.
bool sayUndecoded(const std::vector<Seen>& seen, Model& model) {
    bool any = false;
    for (std::size_t i = 0; i < seen.size(); ++i) {
        if (seen[i].count == 0) continue;
        any = true;
        const auto others = seen[i].count - 1;
        model.warnings.push_back(fmt::format(
            "{} is a layer of {} ({}), which this version does not decode: its parts are listed as they are "
            "stored{}.",
            quotedName(seen[i].first), kUndecoded[i].title, kUndecoded[i].fields,
            others > 0 ? fmt::format(", and those of {} more", others) : ""));
    }
    return any;
}

} // namespace

std::span<const Convention> conventions() {
    static const Convention all[] = {
        kBnb4Convention, kBnb8Convention,      kGptqConvention,        kAwqConvention, kCompressedConvention,
        kMlxConvention,  kFp8BlocksConvention, kMxfp4BlocksConvention, kHqqConvention, kModelOptConvention};
    return all;
}

void deriveLayers(Model& model) {
    if (model.format == "onnx") return; // in ONNX the graph decides what tensors mean, not their names
    // One pass over all names, because there may be a million. Then each convention takes its layers.
    struct Hit {
        const TensorInfo* field;
        std::string_view end;
    };
    const auto rows = conventions();
    std::vector<std::vector<Hit>> hits(rows.size());
    std::vector<Seen> seen(std::size(kUndecoded));
    bool any = false;
    for (const TensorInfo& tensor : model.tensors) {
        if (tensor.packed || tensor.derived) continue;
        for (std::size_t i = 0; i < seen.size(); ++i)
            if (tensor.name.ends_with(kUndecoded[i].end) && seen[i].count++ == 0)
                seen[i].first = tensor.name.substr(0, tensor.name.size() - kUndecoded[i].end.size());
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
        sayUndecoded(seen, model);
        return;
    }
    if (sayUndecoded(seen, model)) return;
    // No tensor belongs to a convention. But config.json may still say that the weights are quantized; then warn.
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
