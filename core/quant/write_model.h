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
/// Bytes of a tensor of a file.
std::uint64_t bytesOf(const TensorToWrite& tensor);
/// The bytes of a tensor as they lie in its file, blocks and all.
Result<TensorToWrite> bytewiseCopyOf(const Model& model, const TensorInfo& tensor);
/// A producer that copies a tensor's bytes.
Result<TensorToWrite> copyOf(const Model& model, const TensorInfo& tensor);
/// What makes a folder complete, and what looks at it before it has its name.
struct Finish {
    std::string config; ///< entries of config.json as a JSON object; "": that file is copied as it is
    std::function<Result<void>(const std::string& path)> prove = {};
};
/// Where the certificate of an export lies: in a folder, or beside a file.
std::string certificatePathFor(const std::string& output);
/// Of a file that is about to be replaced by one that has none.
Result<void> removeCertificate(const std::string& output);
/// `output` ending in .safetensors: one file; else a folder, with the files of the model's folder that are not weights.
Result<WrittenFiles> writeModel(const Model& model, std::vector<OutputShard> shards, const std::string& output,
                                const Job& job, const Finish& finish = {});

} // namespace qs
