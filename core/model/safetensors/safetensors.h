// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The safetensors format: u64 N | N bytes of JSON (the header) | data. The rules, and the order in which errors are
// found, are those of the reference implementation (safetensors/src/tensor.rs). Some checks that it lacks are added.

#include "core/base/job.h"
#include "core/model/model.h"
#include "core/model/naming.h"
#include "core/model/tensors_to_write.h"

#include <functional>
#include <optional>
#include <string_view>
#include <utility>

namespace qs {

class ListBudget;

/// The longest header (as in the reference reader) and the longest index (a limit of this program), in bytes. Longer ones
/// are refused by the readers here, so they are not written.
inline constexpr std::size_t kMostHeaderBytes = 100'000'000, kMostIndexBytes = 100'000'000;

struct SafetensorsHeader {
    std::vector<TensorInfo> tensors; ///< sorted by offset; `offset` counts from the start of the file
    /// Content of `__metadata__`.
    std::map<std::string, std::string> metadata;
    std::vector<std::string> warnings;
};
/// Length of the JSON in bytes, from the first 8 bytes of the file. At most kMostHeaderBytes + 1; 0
/// if `start` has fewer than 8 bytes.
std::uint64_t safetensorsHeaderLength(std::span<const std::byte> start);
/// Parses and checks a header. `head`: the start of the file, at least up to the end of the header. `path` is used only
/// in messages. `budget`: null means a budget for this file alone. `passed`, if set, is called from time to time with
/// the number of bytes of the file that the parser has finished with. `part`: null means all tensors. All are checked,
/// except that the name of a tensor outside the part may be there twice.
Result<SafetensorsHeader> parseSafetensorsHeader(std::span<const std::byte> head, std::uint64_t fileSize,
                                                 const std::string& path, const ListBudget* budget = nullptr,
                                                 const std::function<void(std::uint64_t)>& passed = {},
                                                 const ModelPart* part = nullptr);
inline Result<SafetensorsHeader> parseSafetensorsHeader(std::span<const std::byte> file, const std::string& path) {
    return parseSafetensorsHeader(file, file.size(), path);
}

/// The content of model.safetensors.index.json. Shard names must be plain file names.
struct SafetensorsIndex {
    /// Pairs of tensor name and shard name, in the order of the file.
    std::vector<std::pair<std::string, std::string>> weightMap;
    std::optional<std::uint64_t> totalSize; ///< metadata.total_size in bytes, if it is a whole number
};
Result<SafetensorsIndex> parseSafetensorsIndex(std::string_view text, const std::string& path);
/// The same for an index of a million tensors: it calls `take` for each entry and builds no list. `take` returns "" or
/// the reason to refuse the entry. Duplicate tensor names are not detected. Returns total_size. `passed`: see
/// parseSafetensorsHeader().
using TakeMapped = std::function<std::string(const std::string& tensor, const std::string& shard)>;
Result<std::optional<std::uint64_t>> readSafetensorsIndex(std::string_view text, const std::string& path,
                                                          const TakeMapped& take,
                                                          const std::function<void(std::uint64_t)>& passed = {});

/// The loaders of the file-format registry: a single file, an index with its shards, and a folder.
Result<std::shared_ptr<Model>> openSafetensors(const std::string& path);
Result<std::shared_ptr<Model>> openSafetensorsIndex(const std::string& path);
Result<std::shared_ptr<Model>> openHuggingFaceFolder(const std::string& path);
/// The same for some of the tensors; `part` null means all. A part of a set of shards has no warnings about the index.
Result<std::shared_ptr<Model>> openPartOfSafetensors(const std::string& path, const ModelPart* part);
Result<std::shared_ptr<Model>> openPartOfIndex(const std::string& path, const ModelPart* part);
Result<std::shared_ptr<Model>> openPartOfFolder(const std::string& path, const ModelPart* part);

/// Writes one file atomically, with the same bytes as the reference writer. Tensors are sorted by dtype (descending),
/// then by name. `__metadata__` comes first and always contains "format": "pt". Spaces pad the header to a multiple of
/// 8 bytes. Returns the size of the file in bytes. After an error no file remains. Fails if `path` is a file of
/// `opened` (same device and inode), or if a file of `opened` changed while it was read.
Result<std::uint64_t> writeSafetensors(const std::string& path, TensorsToWrite tensors,
                                       std::map<std::string, std::string> metadata, const Model* opened, const Job& job,
                                       const Naming& naming = {});

} // namespace qs
