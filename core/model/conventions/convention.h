// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The registry of conventions: the ways in which programs store a quantized layer as several tensors. To add one, write
// a file with its recogniser and decoder, and add its row here and in conventions().

#include "core/model/model.h"

#include <span>

namespace qs {

class Checkpoint;

/// Metadata key for files without a config.json. Its value is what config.json would contain under this name.
inline constexpr const char* kConfigKey = "quantization_config";

/// Metadata keys of tensors that this program stored quantized: "quantscope.NAME" (see core/layouts/stored.h).
inline constexpr std::string_view kStoredPrefix = "quantscope.";

/// What says that a layer is stored by a convention. Names and shapes alone are no evidence where programs share them.
enum class Evidence {
    Said,   ///< the settings, a marker tensor or the metadata of the writer say so
    Shaped, ///< names, shapes and types that no other convention has; the decoded values must be like weights as well
    Alike   ///< other conventions have the same names, shapes and types: it is a candidate only
};

struct Convention {
    const char* id;                     ///< "bitsandbytes-4bit"
    const char* title;                  ///< "bitsandbytes 4-bit"
    const char* proof;                  ///< what proves it: "quant_method gptq, and the shapes of qweight and qzeros"
    std::span<const char* const> types; ///< type names of its layers
    /// Suffixes of tensor names. Every layer of the convention has at least one tensor with such a name.
    std::span<const std::string_view> ends;
    /// Adds, offers or refuses the layer that `field` belongs to. `end` is the suffix from `ends` that its name has.
    void (*take)(Checkpoint& checkpoint, const TensorInfo& field, std::string_view end);
    /// Values of quant_method in settings whose layers may be of the convention; empty: no settings name it.
    std::span<const std::string_view> methods = {};
};
std::span<const Convention> conventions();
const Convention* findConvention(std::string_view id); ///< null if there is none
/// A sentence that no convention has this id, with those there are.
std::string unknownConvention(std::string_view id);

/// Replaces the fields of quantized layers with the layers, which are dequantized when they are read. What looks like a
/// layer but is inconsistent, or has no proof, is listed in Model::undecoded, with a warning. `as`: see OpenOptions.
void deriveLayers(Model& model, const Convention* as);

/// Gives the tensors of the layers in Model::undecoded the role Part.
void markParts(Model& model);

/// The rows, each in a file of its own; those of ComfyUI in one.
extern const Convention kBnb4Convention, kBnb8Convention, kGptqConvention, kGptq2Convention, kAwqConvention,
    kCompressedConvention, kMlxConvention, kFp8BlocksConvention, kFp8ScaleConvention, kMxfp4BlocksConvention,
    kHqqConvention, kModelOptConvention, kComfyFp8, kComfyNvfp4, kComfyMxfp8, kComfyInt8, kComfyInt8Rotated,
    kComfyInt4Rotated, kComfyW4A8, kComfySvdQuant, kComfyAwq, kComfyScaledFp8, kTorchAoConvention, kQuantoConvention,
    kKerasConvention, kBitnetConvention;

/// Fails if the network applies transforms while it runs: its weights alone do not say what it computes.
Result<void> checkTransforms(const Model& model);

} // namespace qs
