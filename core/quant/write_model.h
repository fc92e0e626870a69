// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A model written again with some tensors replaced: one file, or a folder with a shard for each shard.

#include "core/quant/layout.h"

namespace qs {

/// The tensors and metadata that come from one source file.
struct OutputShard {
    std::string fileName;
    std::vector<TensorToWrite> tensors;
    std::map<std::string, std::string> metadata;
};
/// A producer that copies a tensor's bytes.
Result<TensorToWrite> copyOf(const Model& model, const TensorInfo& tensor);
/// `output` ending in .safetensors: one file; else a folder, with the files of the model's folder that are not weights.
Result<WrittenFiles> writeModel(const Model& model, std::vector<OutputShard> shards, const std::string& output,
                                const Job& job);

} // namespace qs
