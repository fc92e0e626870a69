// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// safetensors: u64 N | N bytes of JSON | data. Rules and the order of refusals as the reference implementation's
// (safetensors/src/tensor.rs), plus the traps it does not check.

#include "core/base/job.h"
#include "core/model/model.h"
#include "core/model/naming.h"

#include <functional>
#include <optional>
#include <string_view>
#include <utility>

namespace qs {

class ListBudget;

struct SafetensorsHeader {
    std::vector<TensorInfo> tensors; ///< by offset; `offset` is absolute in the file
    std::map<std::string, std::string> metadata;
    std::vector<std::string> warnings;
};
/// What the first 8 bytes say, at most one byte over the limit for headers; 0 where there are fewer.
std::uint64_t safetensorsHeaderLength(std::span<const std::byte> start);
/// `head`: the file's first bytes, to the end of the header where the file holds it. `path` only names the place in
/// errors. `budget` null: that of the file alone. `passed`, where given, hears now and then how many bytes of the file
/// are behind.
Result<SafetensorsHeader> parseSafetensorsHeader(std::span<const std::byte> head, std::uint64_t fileSize,
                                                 const std::string& path, const ListBudget* budget = nullptr,
                                                 const std::function<void(std::uint64_t)>& passed = {});
inline Result<SafetensorsHeader> parseSafetensorsHeader(std::span<const std::byte> file, const std::string& path) {
    return parseSafetensorsHeader(file, file.size(), path);
}

/// model.safetensors.index.json; shard names are checked to be plain file names.
struct SafetensorsIndex {
    std::vector<std::pair<std::string, std::string>> weightMap; ///< tensor, shard; in the order of the file
    std::optional<std::uint64_t> totalSize;                     ///< metadata.total_size, when it is a whole number
};
Result<SafetensorsIndex> parseSafetensorsIndex(std::string_view text, const std::string& path);
/// The same without a list, for indexes of a million tensors: each entry is handed over, and refused where `take` says
/// why. Whether a tensor is there twice is not looked for. Returns total_size; `passed` as of a header.
using TakeMapped = std::function<std::string(const std::string& tensor, const std::string& shard)>;
Result<std::optional<std::uint64_t>> readSafetensorsIndex(std::string_view text, const std::string& path,
                                                          const TakeMapped& take,
                                                          const std::function<void(std::uint64_t)>& passed = {});

Result<std::shared_ptr<Model>> openSafetensors(const std::string& path);
Result<std::shared_ptr<Model>> openSafetensorsIndex(const std::string& path);
Result<std::shared_ptr<Model>> openHuggingFaceFolder(const std::string& path);

struct ProducedTogether;

/// One tensor to write; `produce` is called once, in file order, and hands its bytes over in pieces.
struct TensorToWrite {
    std::string name;
    DType dtype = DType::F32;
    TensorShape shape;
    using Sink = std::function<Result<void>(std::span<const std::byte>)>;
    std::function<Result<void>(const Sink&)> produce;
    const PackedType* packed = nullptr; ///< in GGUF files: the elements are blocks of this type
    /// Set where one pass over a source makes several tensors: writers that can place them call that instead.
    std::shared_ptr<const ProducedTogether> together = nullptr;
};
/// Tensors of one file; each gets its bytes piece by piece, by their offset in it.
struct ProducedTogether {
    using Place = std::function<Result<void>(std::uint64_t offset, std::span<const std::byte>)>;
    std::vector<std::string> names;
    std::function<Result<void>(std::span<const Place>)> produce; ///< a place for each name, once
};

/// Writes one file atomically and byte-identically with the reference writer's order (dtype descending, then name;
/// `__metadata__` first, "format": "pt" always in it; 0x20 padding to a multiple of 8). Nothing is left on failure.
/// Writing onto a path in `opened` (same device and inode) is refused, and so is a source of `opened` that changed
/// while it was read.
Result<std::uint64_t> writeSafetensors(const std::string& path, std::vector<TensorToWrite> tensors,
                                       std::map<std::string, std::string> metadata, const Model* opened, const Job& job,
                                       const Naming& naming = {});

} // namespace qs
