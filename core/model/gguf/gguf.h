// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// GGUF versions 2 and 3: "GGUF" | u32 version | u64 tensors | u64 keys | keys | tensors | padding | data. Rules and what
// is refused as in ggml (docs/gguf.md, src/gguf.cpp), plus what it does not check: the end of the file, the order of
// magnitude of counts, the types of arrays that are read unseen.

#include "core/model/model.h"

#include <optional>

namespace qs {

class ListBudget;

/// Which of the files that a model was split into.
struct GgufSplit {
    std::uint64_t number = 0, count = 0;  ///< number from 0
    std::optional<std::uint64_t> tensors; ///< of all of them
};

struct GgufHeader {
    std::uint32_t version = 0;
    std::uint64_t alignment = 32, dataBegin = 0;
    std::vector<TensorInfo> tensors;             ///< in the order of the file; `offset` is absolute in the file
    std::map<std::string, std::string> metadata; ///< values as text; of long arrays the type, the length and the start
    std::optional<GgufSplit> split;
    std::vector<std::string> warnings;
    bool wantsMore = false; ///< `head` ended within the header, though the file goes on: nothing else is set
};

/// `head`: the file's first bytes, all of them or as many as the caller likes to read. `path` only names the place in
/// errors. `budget` null: that of the file alone.
Result<GgufHeader> parseGgufHeader(std::span<const std::byte> head, std::uint64_t fileSize, const std::string& path,
                                   const ListBudget* budget = nullptr);

/// One file, or with NAME-00001-of-00003.gguf all of them that are there.
Result<std::shared_ptr<Model>> openGguf(const std::string& path);

} // namespace qs
