// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// An opened set of weight files. Opening reads headers only; tensor bytes stay in the mapping until a view is scanned.

#include "core/base/result.h"
#include "core/model/dtype.h"
#include "core/model/tensor_shape.h"

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace qs {

class DerivedTensor;
class MappedFile;
struct PackedType;

/// Of a model with a million tensors there are a million: 96 bytes, and the text of a name that is longer than 15.
struct TensorInfo {
    std::string name; ///< UTF-8 as in the file, unescaped
    DType dtype = DType::F32;
    bool outputLast = false; ///< output channels are the last axis, as in [in, out]; else the first (output_axis.h)
    std::uint32_t file = 0;  ///< index into Model::files()
    const PackedType* packed = nullptr; ///< how elements lie in the file, unless as dtype says (see packed_type.h)
    TensorShape shape;                  ///< numpy order, C-contiguous
    std::uint64_t elements = 0, bytes = 0;
    std::uint64_t offset = 0; ///< of the first byte in that file
    /// Null: the elements lie in the file. Else they are computed, `bytes` counts the computed ones, and `file` is one
    /// of those that are read (see derived_tensor.h).
    std::shared_ptr<const DerivedTensor> derived = nullptr;

    const char* typeId() const; ///< as the file names it: "BF16", "Q4_K"
    std::int64_t lastAxis() const { return shape.empty() ? 1 : shape.back(); }
    /// Taken without a filter: a float tensor of rank 2 or more.
    bool isWeight() const { return info(dtype).quantizable && shape.size() >= 2; }
};
static_assert(sizeof(TensorInfo) == 96 || sizeof(std::string) != 32);

/// One tensor's bytes; valid while its Model lives. Little-endian, maybe unaligned: load with memcpy.
struct TensorView {
    const TensorInfo* info = nullptr;
    std::span<const std::byte> bytes; ///< in the mapping; empty where they are read piece by piece or computed
    std::shared_ptr<MappedFile> file; ///< null: in memory, or computed

    /// Bytes [begin, begin + n) of the tensor, in the mapping or in `scratch`.
    std::span<const std::byte> read(std::uint64_t begin, std::size_t n, std::vector<std::byte>& scratch) const;
    void readInto(std::uint64_t begin, std::span<std::byte> into) const;
};

struct ModelFile {
    std::string path; ///< absolute
    std::uint64_t size = 0;
    std::shared_ptr<MappedFile> mapping;
    std::map<std::string, std::string> metadata; ///< safetensors __metadata__; GGUF keys, values as text
};

class Model {
public:
    std::string path;   ///< as the user named it, absolute
    std::string title;  ///< folder or file name for the top bar
    std::string format; ///< id of the file format: "safetensors"
    std::vector<ModelFile> files;
    std::vector<TensorInfo> tensors;   ///< in name order, numbers inside names compared as numbers
    std::vector<std::string> warnings; ///< missing shards, unmapped tensors, wrong total_size: one sentence each
    std::string folder;                ///< Hugging Face directory or "" when a single file was opened

    const TensorInfo* find(std::string_view name) const;
    /// Fails when the file shrank or was replaced since it was opened.
    Result<TensorView> view(const TensorInfo& tensor) const;
    std::uint64_t totalBytes() const;
    /// A sentence when a file changed (size, inode, mtime) or a page fault was caught in one since it was opened.
    Result<void> unchanged(const TensorInfo& tensor) const;
};

/// Sniffs and opens a file, a sharded index or a Hugging Face directory.
Result<std::shared_ptr<const Model>> openModel(const std::string& path);

/// Layer number and role out of a tensor name: "model.layers.3.self_attn.q_proj.weight" -> layer 3, role "q_proj",
/// group "layers.3". layer -1: outside the stack (embed, head, norms).
struct TensorPlace {
    int layer = -1;
    std::string group;
    std::string role;
    std::string inLayer; ///< the role with the expert's number: "experts.5.down_proj"
};
TensorPlace placeOf(std::string_view tensorName);

} // namespace qs
