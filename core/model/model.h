// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A model: the weight files that were opened and the list of their tensors. Opening reads only headers; the values of a
// tensor are read later, through a TensorView.

#include "core/base/result.h"
#include "core/model/dtype.h"
#include "core/model/gguf/packed_type.h"
#include "core/model/tensor_name.h"
#include "core/model/tensor_role.h"
#include "core/model/tensor_shape.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace qs {

class DerivedTensor;
class MappedFile;

/// One row of a model's list of tensors.
struct TensorInfo {
    TensorName name; ///< UTF-8, as in the file, with escape sequences resolved
    DType dtype = DType::F32;
    /// True: output channels are the last axis, as in [in, out]. False: the first (see output_axis.h).
    bool outputLast = false;
    PackedTypeRef packed = nullptr; ///< block type of the stored elements; null: they are stored as `dtype`
    std::uint32_t file = 0;         ///< index into Model::files()
    TensorShape shape;              ///< axes in NumPy order, C-contiguous; a scalar has none
    /// `bytes`: size of the data in the file; of the computed values if `derived` is set.
    std::uint64_t elements = 0, bytes = 0;
    std::uint64_t offset = 0; ///< of the tensor's first byte, in bytes from the start of the file
    /// Null: the elements are stored in the file. Otherwise they are computed when they are read (see
    /// derived_tensor.h). Then `bytes` counts computed bytes, and `file` is one of the files that they are computed
    /// from.
    std::shared_ptr<const DerivedTensor> derived = nullptr;
    TensorRole role = TensorRole::Unknown; ///< what it is in the network; set when the model is opened

    const char* typeId() const; ///< name of the element type in its file format: "BF16", "Q4_K"
    /// Size of the last axis; 1 for a scalar.
    std::int64_t lastAxis() const { return shape.empty() ? 1 : shape.back(); }
    /// True for tensors that a spec takes when there is no filter: float tensors with two or more axes, whose role is one
    /// that is taken.
    bool isWeight() const { return info(dtype).quantizable && shape.size() >= 2 && rowOf(role).taken; }
    /// True for a tensor that is listed although its values cannot be read (see unread.h).
    bool isUnread() const { return packed && packed->bytes == 0; }
};

/// Access to the bytes of one tensor; valid while its Model exists. Values are little-endian and may be unaligned, so
/// load them with memcpy.
struct TensorView {
    const TensorInfo* info = nullptr;
    /// The tensor in the mapped file; empty if it must be read with pread or computed.
    std::span<const std::byte> bytes;
    std::shared_ptr<MappedFile> file; ///< null if the tensor is computed or is in memory

    /// Returns bytes [begin, begin + n) of the tensor. The span points into the mapping or into `scratch`, which grows
    /// as needed.
    std::span<const std::byte> read(std::uint64_t begin, std::size_t n, std::vector<std::byte>& scratch) const;
    /// Copies bytes [begin, begin + into.size()) of the tensor.
    void readInto(std::uint64_t begin, std::span<std::byte> into) const;
};

/// A convention (see conventions/convention.h) that a layer may be stored by.
struct ConventionCandidate {
    const char* convention;  ///< its id: "modelopt-nvfp4"
    double plausibility = 0; ///< 0: the decoded values are no weights; 0.5: they do not tell; 1: they fit well
    std::string reason;      ///< what speaks for or against it, as a clause
};

/// A quantized layer that is not decoded. Its tensors are listed as they are stored, with the role Part.
struct UndecodedLayer {
    std::string name;                            ///< "model.layers.0.self_attn.q_proj"
    std::vector<std::string> parts;              ///< names of its tensors
    std::string why;                             ///< as a clause: "nothing says how it is stored"
    std::vector<ConventionCandidate> candidates; ///< the most plausible first; empty: none is known
    bool isContradicted = false; ///< it says how it is stored, and its own tensors contradict that: `why`
};

/// Something that a checkpoint says of a layer and that its tensors contradict. The layer is decoded as is said.
struct Contradiction {
    std::string layer;     ///< name of the tensor
    std::string says;      ///< "config.json says sym: true and GPTQ"
    std::string holds;     ///< "its zero points are 9, not 8"
    const char* fits = ""; ///< id of the convention that would fit; "" if none is known
};

/// What the checkpoint names and what is not there.
struct MissingTensors {
    std::uint64_t tensors = 0;      ///< that an index names and no file holds
    std::string first;              ///< the first of these by name
    std::vector<std::string> files; ///< names of files that are not there: shards, external data
    bool any() const { return tensors > 0 || !files.empty(); }
};

/// One opened file of a model.
struct ModelFile {
    std::string path;       ///< absolute
    std::uint64_t size = 0; ///< in bytes
    std::shared_ptr<MappedFile> mapping;
    std::map<std::string, std::string> metadata; ///< safetensors: `__metadata__`; GGUF: its keys, with values as text
};

class Model {
public:
    std::string path;   ///< absolute form of the path that the user gave
    std::string title;  ///< name to show: the file, the folder, or "org/name" in a Hugging Face cache
    std::string format; ///< id of the file format in fileFormats(): "safetensors"
    std::vector<ModelFile> files;
    std::vector<TensorInfo> tensors; ///< sorted by name; digits inside names compare as numbers
    /// One sentence each: a missing shard, a tensor that the index does not list, a wrong total_size.
    std::vector<std::string> warnings;
    std::vector<UndecodedLayer> undecoded;
    std::vector<Contradiction> contradictions;
    MissingTensors missing;
    std::string folder; ///< folder of the checkpoint; "" if a single file was opened

    /// Null if there is no tensor of this name.
    const TensorInfo* find(std::string_view name) const;
    /// Access to a tensor of this model. Fails as unchanged() does.
    Result<TensorView> view(const TensorInfo& tensor) const;
    /// Sum of storedBytes() over all tensors.
    std::uint64_t totalBytes() const;
    /// Fails with one sentence if a file of the tensor changed since it was opened (device, inode, size or mtime), or
    /// if reading it failed.
    Result<void> unchanged(const TensorInfo& tensor) const;
};

/// A part of a model to list, for lists of a million tensors that are gone through in parts.
struct ModelPart {
    std::function<bool(std::string_view name)> hasTensor;
    std::function<bool(std::string_view key)> hasMetadata;
};

struct OpenOptions {
    const ModelPart* part = nullptr; ///< null: all tensors. Formats without FileFormat::openPart list all tensors.
    /// Id of a convention: layers that can be read by it are, whatever the checkpoint says of them. "": as it says.
    std::string as = {};
};

/// Opens a file, an index of shards, or a folder. The first bytes decide the format; the name decides only if they do
/// not. Errors name the path.
Result<std::shared_ptr<const Model>> openModel(const std::string& path, const OpenOptions& options = {});

/// One sentence about the quantized layers that are not decoded, for a command that leaves them out: how many, why, and
/// what would decode them. "" if there are none.
std::string leftOutSentence(const Model& model);
/// One sentence about what is missing (Model::missing), and about the tensors that cannot be read. "" if nothing is.
std::string missingSentence(const Model& model);

/// What a tensor name says about its place in the network: "model.layers.3.self_attn.q_proj.weight" is layer 3, group
/// "layers.3", role "q_proj". Layer -1: outside the stack of layers (embedding, head, final norm).
struct TensorPlace {
    int layer = -1;
    std::string group;
    std::string role;
    std::string inLayer; ///< the role with the number of the expert: "experts.5.down_proj"
};
TensorPlace placeOf(std::string_view tensorName);

} // namespace qs
