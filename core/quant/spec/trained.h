// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The result of training as a spec of its own: SPEC:dialect=NAME chooses the codes and scales of SPEC from latent weights
// that were trained under it, for the tensors that they belong to; every other tensor is quantized as SPEC says. Errors
// are measured against the original. What is written holds SPEC's codes, which any reader decodes.
//
// A file NAME.safetensors beside the user's formats holds the latent weights and, in its metadata, SPEC and the XXH3 of
// each original tensor.

#include "core/base/job.h"
#include "core/model/model.h"
#include "core/quant/spec/spec.h"

#include <memory>
#include <optional>

namespace qs {

struct TrainedSpec {
    std::string id;
    QuantSpec base;
    std::string made; ///< "output NMSE 0.0051 instead of 0.0089"
    std::shared_ptr<const Model> latents;
    std::vector<std::pair<std::string, std::string>> originals; ///< tensor, hex XXH3 of its bytes
};
/// nullptr: unknown. Never forgotten once known.
const TrainedSpec* findTrained(std::string_view id);
bool isTrained(const QuantSpec& spec);
QuantSpec withoutTrained(const QuantSpec& spec);

/// a to z, digits and _, 32 at most, a letter first; neither a dialect of a format nor taken.
Result<void> checkTrainedId(const std::string& id, const QuantSpec& base);
struct TrainedTensor {
    TensorView original;
    std::shared_ptr<const std::vector<float>> latent;
    std::string made;
};
/// Writes the file and knows the spec from now on; returns it.
Result<QuantSpec> saveTrained(const std::string& id, const QuantSpec& base, const TrainedTensor& tensor,
                              const std::string& folder, const Job& job);
/// All of a folder's; a sentence for each that was refused.
std::vector<std::string> loadTrained(const std::string& folder);

/// The latent weights that stand for a tensor; none: it is quantized as it is.
std::optional<TensorView> trainedSource(const TensorView& view, const QuantSpec& spec);

} // namespace qs
