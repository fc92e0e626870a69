// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// GGUF versions 2 and 3: "GGUF" | u32 version | u64 number of tensors | u64 number of keys | keys | tensors | padding |
// data. The rules are those of ggml (docs/gguf.md, src/gguf.cpp). Checks that ggml lacks are added: the end of the
// file, limits for counts, and the types of arrays that are not used.

#include "core/model/model.h"

#include <optional>

namespace qs {

class ListBudget;

/// For a model that was split into several files: which of them this is.
struct GgufSplit {
    std::uint64_t number = 0, count = 0;  ///< `number` starts at 0
    std::optional<std::uint64_t> tensors; ///< number of tensors in all files together
};

struct GgufHeader {
    std::uint32_t version = 0;
    std::uint64_t alignment = 32, dataBegin = 0; ///< both in bytes; `dataBegin` counts from the start of the file
    std::vector<TensorInfo> tensors; ///< in the order of the file; `offset` counts from the start of the file
    /// Values as text; for long arrays the first items, the length and the type.
    std::map<std::string, std::string> metadata;
    std::optional<GgufSplit> split;
    std::vector<std::string> warnings;
    bool wantsMore = false; ///< true: `head` ended inside the header although the file is longer; no other field is set
};

/// Parses and checks a header. `head`: the start of the file, of any length. `path` is used only in messages. `budget`:
/// null means a budget for this file alone.
Result<GgufHeader> parseGgufHeader(std::span<const std::byte> head, std::uint64_t fileSize, const std::string& path,
                                   const ListBudget* budget = nullptr);

/// Opens one file. If it is called NAME-00001-of-00003.gguf, opens all files of the split model that exist.
Result<std::shared_ptr<Model>> openGguf(const std::string& path);

} // namespace qs
