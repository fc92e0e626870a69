// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Reads Python pickles as data. Nothing is imported, called or constructed. A class is only its name; an object is its
// class, its arguments and its state. Each value has a number (Ref). Lists and dictionaries may contain themselves or
// each other; code that walks them must check for that.
// Opcodes: those of PyTorch's restricted unpickler, and those that protocols 4 and 5 use in their place. Any other
// opcode is an error.

#include "core/base/result.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace qs {

/// Limits against hostile files. `farMemo`: memo entries whose numbers are not consecutive.
struct PickleLimits {
    std::uint64_t opcodes = 5'000'000, values = 2'000'000, stack = 1'000'000, farMemo = 100'000;
    std::uint64_t memory = ~std::uint64_t(0); ///< bytes that the values take
};

class Pickle {
public:
    using Ref = std::uint32_t;
    static constexpr Ref kNone = 0; ///< the number of the value None
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
        Ref callable = kNone, args = kNone, state = kNone; ///< `state`: argument of the opcode BUILD
    };

    /// Reads `bytes` up to the opcode STOP. There may be at most 2^32 - 1 bytes, and they must outlive the result. The
    /// error message is the end of a sentence; its offset counts from the start of `bytes`. `isCutOff`, if given, is
    /// set to true if the only problem is that bytes are missing.
    static Result<Pickle> read(std::span<const std::byte> bytes, const PickleLimits& limits = {},
                               bool* isCutOff = nullptr);

    Ref root() const { return root_; }
    std::size_t length() const { return length_; } ///< bytes that were read, including STOP

    Kind kind(Ref value) const { return nodes_[value].kind; }
    std::int64_t number(Ref value) const;   ///< for Bool and Int
    double real(Ref value) const;           ///< for Float
    std::string_view text(Ref value) const; ///< for Text and Bytes; "" for others
    /// Elements of a tuple, list or set; for an object, the elements that were appended to it.
    std::vector<Ref> items(Ref value) const;
    /// The number of elements of a tuple, and one element of it.
    std::size_t itemCount(Ref tuple) const { return nodes_[tuple].b; }
    Ref item(Ref tuple, std::size_t i) const { return pool_[nodes_[tuple].a + i]; }
    /// Keys and values of a dictionary, in turn: key, value, key, value. For an object: the items that were set on it.
    std::vector<Ref> pairs(Ref value) const;
    /// Number of elements of a tuple or list. Stops counting soon after `most`.
    std::size_t itemCountAtMost(Ref value, std::size_t most) const;
    bool hasPairs(Ref value) const;
    const Object& object(Ref value) const { return objects_[nodes_[value].a].object; }
    Ref persistentId(Ref value) const { return nodes_[value].a; }
    std::string className(Ref classValue) const; ///< "module.name"; "" if the value is not a class
    std::size_t values() const { return nodes_.size(); }
    std::uint64_t memory() const; ///< bytes of memory that the values take

private:
    friend class PickleReader;
    /// A value. What `a` and `b` mean depends on the kind: a number, a place in the pickle, or indices into the lists
    /// below.
    struct Node {
        Kind kind = Kind::None;
        std::uint32_t a = 0, b = 0;
    };
    struct Chain {                         ///< a list of segments in pool_
        std::uint32_t first = 0, last = 0; ///< numbers of segments, counted from 1; 0: none
    };
    /// A range of pool_, and the number of the next segment.
    struct Segment {
        std::uint32_t begin, count, next;
    };
    struct Stored {
        Object object;
        Chain items, pairs;
    };
    std::vector<Ref> collect(Chain chain) const;

    std::span<const std::byte> bytes_;
    std::deque<Node> nodes_; // deques, because they need no second copy to grow
    std::deque<Ref> pool_;
    std::deque<Segment> segments_;
    std::deque<Stored> objects_;
    std::deque<Chain> chains_; ///< for lists, sets and dictionaries
    Ref root_ = kNone;
    std::size_t length_ = 0;
};

} // namespace qs
