// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Remembers the tokens of pieces, because texts repeat their words. It allocates no memory per piece: keys and tokens
// are stored one behind the other, and the table has a fixed size.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace qs::eval {

/// A token, and how many bytes of its piece it stands for.
struct Token {
    std::int32_t id = 0;
    std::uint32_t bytes = 0;
};

class WordCache {
public:
    static constexpr std::size_t kLongest = 48; ///< bytes of a piece that is remembered

    WordCache() : slots_(std::size_t(1) << kBits) {}

    static std::uint64_t hashOf(std::string_view piece) {
        std::uint64_t hash = piece.size() * 0x9E3779B97F4A7C15u;
        for (std::size_t at = 0; at < piece.size(); at += 8) {
            std::uint64_t word = 0;
            std::memcpy(&word, piece.data() + at, std::min<std::size_t>(8, piece.size() - at));
            hash = (hash ^ word) * 0xFF51AFD7ED558CCDu;
            hash ^= hash >> 32;
        }
        return hash;
    }
    /// The tokens of a piece; empty if the piece is not in the cache.
    std::span<const Token> find(std::string_view piece, std::uint64_t hash) const {
        const Slot& slot = slots_[hash >> (64 - kBits)];
        if (slot.bytes != piece.size() || std::memcmp(bytes_.data() + slot.key, piece.data(), piece.size()) != 0)
            return {};
        return {tokens_.data() + slot.first, slot.count};
    }
    /// Stores a piece of 1 to kLongest bytes. It replaces another piece in the same slot.
    void remember(std::string_view piece, std::uint64_t hash, std::span<const Token> tokens) {
        if (bytes_.size() > kMostBytes) forget();
        Slot& slot = slots_[hash >> (64 - kBits)];
        slot = {std::uint32_t(bytes_.size()), std::uint32_t(tokens_.size()), std::uint16_t(piece.size()),
                std::uint16_t(tokens.size())};
        bytes_.insert(bytes_.end(), piece.begin(), piece.end());
        tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
    }

private:
    static constexpr unsigned kBits = 15;
    static constexpr std::size_t kMostBytes = std::size_t(2) << 20;
    struct Slot {
        std::uint32_t key = 0, first = 0;
        std::uint16_t bytes = 0, count = 0; ///< 0 bytes: empty
    };
    void forget() {
        std::fill(slots_.begin(), slots_.end(), Slot());
        bytes_.clear(), tokens_.clear();
    }
    std::vector<Slot> slots_;
    std::vector<char> bytes_;
    std::vector<Token> tokens_;
};

} // namespace qs::eval
