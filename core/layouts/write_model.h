// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A model written again with some tensors replaced: one file, or a folder with a shard for each shard.

#include "core/layouts/layout.h"
#include "core/model/output/atomic_file.h"
#include "core/model/tensor_stream.h"

#include <memory>

namespace qs {

/// The tensors and metadata that come from one source file.
struct OutputShard {
    std::string fileName;
    TensorsToWrite tensors;
    std::map<std::string, std::string> metadata;
};
/// The metadata of a source file that stays true in another kind of file. What says how the source stores its tensors
/// ("general.file_type" of GGUF, its splits, settings of a quantized layer) is left out: of the output it would be wrong.
std::map<std::string, std::string> metadataToCopy(const ModelFile& file);
/// The shards as one file. Of metadata with the same key, the first counts.
OutputShard inOne(std::vector<OutputShard> shards);
/// Removes what a file's metadata says of layers that were decoded, each under its own name, as torchao writes it.
void forgetDecoded(const Model& model, std::map<std::string, std::string>& metadata);
/// The name of a file of the source, as a file of safetensors.
std::string shardName(const ModelFile& file);
/// The bytes of a tensor as they lie in its file, blocks and all.
Result<TensorToWrite> bytewiseCopyOf(const Model& model, const TensorInfo& tensor);
/// Writes a tensor's values in a float type of 16 to 64 bits.
Result<void> writeValues(const TensorView& view, DType dtype, const TensorToWrite::Sink& sink);
/// A producer that copies a tensor's bytes.
Result<TensorToWrite> copyOf(const Model& model, const TensorInfo& tensor);
/// What makes a folder complete, and what looks at it before it has its name.
struct Finish {
    std::string config; ///< entries of config.json as a JSON object; "": that file is copied as it is
    std::function<Result<void>(const std::string& path, const std::vector<LeftOut>& leftOut)> prove = {};
    std::function<Result<void>()> before = {}, after = {}; ///< of a single file, as in QuantizeRequest
    StageFiles stage = {};                                 ///< as in QuantizeRequest
    bool copyAll = false;                                  ///< as in QuantizeRequest
    /// For the one file that is written; refers to this.
    Naming naming(const std::string& output) const;
};
/// `output` ending in .safetensors: one file; else a folder, with the files of the model's folder that are not weights.
Result<WrittenFiles> writeModel(const Model& model, std::vector<OutputShard> shards, const std::string& output,
                                const Job& job, const Finish& finish = {});

/// The model without the tensors that cannot be read; null if all can be.
std::unique_ptr<const Model> readableOf(const Model& model);

} // namespace qs
