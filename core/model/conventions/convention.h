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

struct Convention {
    const char* id;                     ///< "bitsandbytes-4bit"
    const char* title;                  ///< "bitsandbytes 4-bit"
    std::span<const char* const> types; ///< type names of its layers
    /// Suffixes of tensor names. Every layer of the convention has at least one tensor with such a name.
    std::span<const std::string_view> ends;
    /// Adds or refuses the layer that `field` belongs to. `end` is the suffix from `ends` that its name has.
    void (*take)(Checkpoint& checkpoint, const TensorInfo& field, std::string_view end);
};
std::span<const Convention> conventions();

/// Replaces the fields of quantized layers with the layers, which are dequantized when they are read. What looks like a
/// layer but is inconsistent stays as stored tensors, with a warning.
void deriveLayers(Model& model);

/// The rows, each in a file of its own.
extern const Convention kBnb4Convention, kBnb8Convention, kGptqConvention, kAwqConvention, kCompressedConvention,
    kMlxConvention, kFp8BlocksConvention, kMxfp4BlocksConvention, kHqqConvention, kModelOptConvention;

} // namespace qs
