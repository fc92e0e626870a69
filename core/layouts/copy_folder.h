// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Copies the files beside the weights (config.json, tokenizers) from a model's folder to an output folder.

#include "core/base/job.h"
#include "core/layouts/layout.h"

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

namespace qs {

/// Whether a file is an index of shards, such as "model.safetensors.index.json".
bool isIndexName(const std::string& name);

/// config.json of the source without its quantization entries; the order of the others stays. Empty if there is none.
Result<nlohmann::ordered_json> sourceConfig(const Model& model);

/// The file that describes a model on Hugging Face's hub.
inline constexpr const char* kModelCard = "README.md";

/// Copies the files of the source folder that are not shards, indexes or hidden, and returns their names. A symbolic
/// link becomes a copy of its target. The target must lie in the folder, or in the blobs of the same cache of Hugging
/// Face's hub. Other links, and all that is not a regular file, are listed in `leftOut`. These are neither copied nor
/// listed: the output itself, which may lie in the folder; files that other runs are writing there; the certificate of
/// the source; and the files that say how the source is quantized, if the output says that for itself. Weights that are
/// not of the model are listed too, unless all are to be copied: else a quantized folder may take more than its source.
struct CopyRules {
    bool configures = false; ///< the output has a config.json of its own
    bool all = false;        ///< copy other weights too
};
Result<std::vector<std::string>> copyUntouched(const Model& model, const std::filesystem::path& into,
                                               const std::filesystem::path& output, CopyRules rules,
                                               std::vector<LeftOut>& leftOut, const Job& job);

} // namespace qs
