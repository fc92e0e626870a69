// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The registry of conventions by which quantized layers lie in files as several tensors. Adding one: a row here, a file
// with its recogniser and decoder.

#include "core/model/model.h"

#include <span>

namespace qs {

class Checkpoint;

/// In the metadata of a file that has no config.json: what that would say under the same name.
inline constexpr const char* kConfigKey = "quantization_config";

struct Convention {
    const char* id;                     ///< "bitsandbytes-4bit"
    const char* title;                  ///< "bitsandbytes 4-bit"
    const char* recognised;             ///< by what, for people
    std::span<const char* const> types; ///< that its layers have
    /// Ends of the names of fields of which every layer of the convention has at least one.
    std::span<const std::string_view> ends;
    /// Adds or refuses the layer that this field belongs to; `end` is the one of `ends` that its name has.
    void (*take)(Checkpoint& checkpoint, const TensorInfo& field, std::string_view end);
};
std::span<const Convention> conventions();

/// Replaces the fields of quantized layers by the layers, decoded as they are read. What looks like a layer and is none
/// stays as it is, with a warning.
void deriveLayers(Model& model);

/// The rows, one in each file.
extern const Convention kBnb4Convention, kBnb8Convention, kGptqConvention, kAwqConvention, kCompressedConvention,
    kMlxConvention, kFp8BlocksConvention, kMxfp4BlocksConvention, kHqqConvention, kModelOptConvention;

} // namespace qs
