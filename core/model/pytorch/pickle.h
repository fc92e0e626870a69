// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Python pickles as data. Nothing is imported, called or built: a class is its name, an object is the names and values
// that it would have been made of. Values are numbered; lists and dictionaries that refer to each other, or to
// themselves, stay such, and who walks them looks out for that. The opcodes are those of PyTorch's own restricted reader
// and what protocols 4 and 5 write instead of them; any other ends the reading.

#include "core/base/result.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace qs {

struct PickleLimits {
    std::uint64_t opcodes = 5'000'000, values = 2'000'000, stack = 1'000'000, farMemo = 100'000;
    std::uint64_t memory = ~std::uint64_t(0); ///< bytes of the values
};

class Pickle {
public:
    using Ref = std::uint32_t;
    static constexpr Ref kNone = 0; ///< the value None
    enum class Kind : std::uint8_t {
        None,
        Bool,
        Int,
        BigInt,
        Float,
        Text,
        Bytes,
        Tuple,
        List,
        Dict,
        Set,
        Class,
        Object,
        Persistent
    };
    struct Object {
        Ref callable = kNone, args = kNone, state = kNone; ///< `state`: what BUILD gave it
    };

    /// Reads to STOP. `bytes`, at most 2^32 - 1 of them, must outlive the result. What is wrong is the end of a
    /// sentence, with its place in `bytes`; `isCutOff`, when given, tells that only more bytes are missing.
    static Result<Pickle> read(std::span<const std::byte> bytes, const PickleLimits& limits = {},
                               bool* isCutOff = nullptr);

    Ref root() const { return root_; }
    std::size_t length() const { return length_; } ///< of what was read, STOP included

    Kind kind(Ref value) const { return nodes_[value].kind; }
    std::int64_t number(Ref value) const;   ///< of Bool and Int
    double real(Ref value) const;           ///< of Float
    std::string_view text(Ref value) const; ///< of Text and Bytes
    /// Of a tuple, list or set; of an object, what was appended to it.
    std::vector<Ref> items(Ref value) const;
    std::size_t itemCount(Ref tuple) const { return nodes_[tuple].b; }
    Ref item(Ref tuple, std::size_t i) const { return pool_[nodes_[tuple].a + i]; }
    /// Key, value, key, value of a dictionary, or set on an object.
    std::vector<Ref> pairs(Ref value) const;
    /// Of a tuple or list, without a walk over more than `most`.
    std::size_t itemCountAtMost(Ref value, std::size_t most) const;
    bool hasPairs(Ref value) const;
    const Object& object(Ref value) const { return objects_[nodes_[value].a].object; }
    Ref persistentId(Ref value) const { return nodes_[value].a; }
    std::string className(Ref classValue) const; ///< "module.name"; "" where it is no class
    std::size_t values() const { return nodes_.size(); }
    std::uint64_t memory() const; ///< bytes that they take

private:
    friend class PickleReader;
    struct Node {
        Kind kind = Kind::None;
        std::uint32_t a = 0, b = 0;
    };
    struct Chain {                         ///< of segments
        std::uint32_t first = 0, last = 0; ///< numbers from 1; 0: none
    };
    struct Segment {
        std::uint32_t begin, count, next;
    };
    struct Stored {
        Object object;
        Chain items, pairs;
    };
    std::vector<Ref> collect(Chain chain) const;

    std::span<const std::byte> bytes_;
    std::deque<Node> nodes_; // deques: no second copy while they grow
    std::deque<Ref> pool_;
    std::deque<Segment> segments_;
    std::deque<Stored> objects_;
    std::deque<Chain> chains_; ///< of lists, sets and dictionaries
    Ref root_ = kNone;
    std::size_t length_ = 0;
};

} // namespace qs
