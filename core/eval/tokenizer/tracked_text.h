// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A text that is rewritten step by step, with the place in the original that each of its bytes comes from.

#include "core/base/result.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace qs::eval {

struct Place {
    std::uint32_t begin = 0, end = 0; ///< bytes of the original text
};

struct TrackedText {
    std::string bytes;
    std::vector<Place> places; ///< of each byte; empty: places are not wanted
};

/// Builds a text out of another one.
class Rewriter {
public:
    /// `piece` is a part of from.bytes; begin and end below count from its start.
    Rewriter(const TrackedText& from, std::string_view piece, TrackedText& into)
        : from_(from), piece_(piece), base_(std::size_t(piece.data() - from.bytes.data())), into_(into) {}

    /// The bytes from `begin` to `end` stay.
    void keep(std::size_t begin, std::size_t end) {
        into_.bytes.append(piece_, begin, end - begin);
        if (!from_.places.empty())
            into_.places.insert(into_.places.end(), from_.places.begin() + std::ptrdiff_t(base_ + begin),
                                from_.places.begin() + std::ptrdiff_t(base_ + end));
    }
    /// `text` stands where the bytes from `begin` to `end` stood; there may be none of them.
    void put(std::string_view text, std::size_t begin, std::size_t end) {
        if (into_.bytes.size() + text.size() > most_) {
            if (!error_) error_ = Error{"The tokenizer makes the text more than 64 times as long.", {}, -1, false};
            return;
        }
        into_.bytes += text;
        if (!from_.places.empty()) into_.places.insert(into_.places.end(), text.size(), place(begin, end));
    }

    void refuse(Error why) { error_ = std::move(why); } ///< ends the whole text
    void limitTo(std::size_t bytes) { most_ = bytes; }  ///< more is refused
    const std::optional<Error>& error() const { return error_; }

private:
    Place place(std::size_t begin, std::size_t end) const {
        const auto& places = from_.places;
        const Place last = places[std::min(base_ + std::max(begin, end - (end > begin)), places.size() - 1)];
        const Place first = places[std::min(base_ + begin, places.size() - 1)];
        if (begin == end)
            return base_ + begin < places.size() ? Place{first.begin, first.begin} : Place{last.end, last.end};
        return {first.begin, last.end};
    }
    const TrackedText& from_;
    std::string_view piece_;
    std::size_t base_;
    TrackedText& into_;
    std::optional<Error> error_;
    std::size_t most_ = std::size_t(-1);
};

/// Writes one piece anew. `first`: it begins where the text begins.
using Rewrite = std::function<void(std::string_view piece, bool first, Rewriter& into)>;

} // namespace qs::eval
