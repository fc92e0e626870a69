// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A text that is rewritten step by step. For each of its bytes the place in the original text is known.

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
    std::vector<Place> places; ///< the place of each byte; empty if places are not needed
};

/// Builds a text from another one.
class Rewriter {
public:
    /// `piece` is a part of from.bytes; begin and end below count from its start.
    Rewriter(const TrackedText& from, std::string_view piece, TrackedText& into)
        : from_(from), piece_(piece), base_(std::size_t(piece.data() - from.bytes.data())), into_(into) {}

    /// Copies the bytes from `begin` to `end`.
    void keep(std::size_t begin, std::size_t end) {
        into_.bytes.append(piece_, begin, end - begin);
        if (!from_.places.empty())
            into_.places.insert(into_.places.end(), from_.places.begin() + std::ptrdiff_t(base_ + begin),
                                from_.places.begin() + std::ptrdiff_t(base_ + end));
    }
    /// Puts `text` in the place of the bytes from `begin` to `end`, which may be an empty range.
    void put(std::string_view text, std::size_t begin, std::size_t end) {
        if (into_.bytes.size() + text.size() > most_) {
            if (!error_) error_ = Error{"The tokenizer makes the text more than 64 times as long.", {}, -1, false};
            return;
        }
        into_.bytes += text;
        if (!from_.places.empty()) into_.places.insert(into_.places.end(), text.size(), place(begin, end));
    }

    void refuse(Error why) { error_ = std::move(why); } ///< stops with an error
    void limitTo(std::size_t bytes) { most_ = bytes; }  ///< a longer text is refused
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

/// Rewrites one piece. `first` is true for the piece at the beginning of the text.
using Rewrite = std::function<void(std::string_view piece, bool first, Rewriter& into)>;

} // namespace qs::eval
