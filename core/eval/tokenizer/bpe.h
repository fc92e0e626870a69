// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Byte-pair encoding (Sennrich et al. 2016) of one piece of a text: begins with its characters, then merges the pair of
// neighbours with the lowest rank until none is left, the leftmost of equals first.

#include "core/base/result.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace qs::eval {

class Bpe {
public:
    /// `model`: the value under "model" of tokenizer.json. Errors are the end of a sentence.
    static Result<Bpe> read(const nlohmann::json& model);

    /// Appends the ids of a piece in UTF-8. A character that the vocabulary does not have becomes its bytes (byte
    /// fallback), else the unknown token, else nothing.
    void encode(std::string_view piece, std::vector<std::int32_t>& into) const;
    std::int32_t size() const { return size_; }
    std::int32_t idOf(const std::string& token) const; ///< -1: there is none
    const std::unordered_map<std::string, std::int32_t>& vocabulary() const { return vocabulary_; }
    /// The byte that this token stands for by byte fallback; -1: none.
    int byteOf(std::int32_t id) const;

private:
    struct Merge {
        std::int32_t rank = 0, id = 0; ///< id of the merged token
    };
    static std::uint64_t pairKey(std::int32_t left, std::int32_t right) {
        return std::uint64_t(std::uint32_t(left)) << 32 | std::uint32_t(right);
    }
    std::unordered_map<std::string, std::int32_t> vocabulary_;
    std::unordered_map<std::uint64_t, Merge> merges_;
    std::int32_t size_ = 0, unknown_ = -1;
    bool byteFallback_ = false, fusesUnknown_ = false, ignoresMerges_ = false;
    std::int32_t bytes_[256] = {}; ///< ids of "<0x00>" ...
};

} // namespace qs::eval
