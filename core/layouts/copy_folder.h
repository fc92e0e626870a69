// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Copies the files beside the weights (config.json, tokenizers) from a model's folder to an output folder.

#include "core/base/job.h"
#include "core/layouts/layout.h"

#include <filesystem>
#include <nlohmann/json.hpp>

namespace qs {

/// Whether a file is an index of shards, such as "model.safetensors.index.json".
bool isIndexName(const std::string& name);

/// config.json of the source without its quantization entries; the order of the others stays. Empty if there is none.
Result<nlohmann::ordered_json> sourceConfig(const Model& model);

/// Copies everything of the source folder that is not a shard, an index or hidden, and gives the names. A symbolic link
/// becomes what it points to, when that lies in the folder, or in the blobs of the hub's cache that the folder belongs
/// to; other links, and what is no regular file, go into `leftOut`. Neither copied nor named are the output, which may
/// lie in the folder, what other runs are writing there, and what is said of the source alone: how it is quantized,
/// when the output says that, and the certificate of its bytes.
Result<std::vector<std::string>> copyUntouched(const Model& model, const std::filesystem::path& into,
                                               const std::filesystem::path& output, bool configures,
                                               std::vector<LeftOut>& leftOut, const Job& job);

} // namespace qs
