// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What lies beside the weights in a model's folder, and comes into the folder of an output: config.json, tokenizers.

#include "core/base/job.h"
#include "core/layouts/layout.h"

#include <filesystem>
#include <nlohmann/json.hpp>

namespace qs {

/// "model.safetensors.index.json" and its like.
bool isIndexName(const std::string& name);

/// config.json of the source without what it says of a quantization, its other lines in their order; no lines where
/// there is none.
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
