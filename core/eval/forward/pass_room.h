// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What all layers of a network share while chunks go through them: threads, angles, and the values between products.

#include "core/base/parallel.h"
#include "core/eval/forward/workers.h"
#include "core/eval/network/network.h"
#include "kernels/network/attend.h"

#include <span>

namespace qs::eval {

/// Sines and cosines of all positions of a chunk: [positions, frequencies].
struct Angles {
    Angles(std::span<const double> frequency, double scale, std::size_t positions);
    std::vector<float> sines, cosines;
    std::size_t frequencies = 0;
};

/// How many tokens go through a layer at once: some whole chunks, and for a product a part of their rows. Products have
/// enough rows to be dense ones, so that a row has the same result whatever else goes with it.
struct PassSizes {
    /// `chunks`: of the text.
    PassSizes(std::size_t context, std::size_t chunks);
    std::size_t context, chunks;     ///< chunks that go together
    std::size_t blocks, rowsOfBlock; ///< of a product; together at least chunks * context rows
    /// Sizes for only the positions from `first` on in every chunk. The rows of a block stay the same.
    PassSizes from(std::size_t first) const;
    std::size_t tokens() const { return context * chunks; }
    std::size_t rows() const { return blocks * rowsOfBlock; }
};

/// The positions from one of every chunk on: the rows of a layer's output that are needed.
struct Tail {
    Tail(const PassSizes& all, std::size_t first) : context(all.context), first(first), sizes(all.from(first)) {}
    std::size_t context; ///< of whole chunks
    std::size_t first;   ///< position; 0: all rows
    PassSizes sizes;     ///< of these rows alone
    /// The number of needed rows among `tokens` rows. They are whole chunks, but the last one may be shorter.
    std::size_t rows(std::size_t tokens) const;
    /// Copies rows of `width` values together, or back. `x`: [tokens, width]; both may begin at the same place.
    void gather(const float* x, std::size_t tokens, std::size_t width, float* rows) const;
    void scatter(const float* rows, std::size_t tokens, std::size_t width, float* x) const;
};

/// Tokens that an expert multiplies at once: at most PassSizes::rowsOfBlock.
constexpr std::size_t kExpertRows = 48;

struct PassRoom {
    PassRoom(const Network& network, const PassSizes& sizes, unsigned threads = workerCount());
    /// Bytes of the values.
    std::size_t bytes() const;

    PassSizes sizes;
    Workers workers;
    /// The angles of a rope (rotary position embedding) of the network, for a chunk of this many tokens.
    const Angles& anglesOf(std::size_t rope, std::size_t tokens) const {
        return tokens > longFrom_[rope] ? longAngles_[rope] : angles_[rope];
    }
    std::vector<float> input, result;               ///< [rows, hidden] before and after attention and MLP
    std::vector<float> projected, packed, attended; ///< of attention: see there
    std::vector<float> wide, activated;             ///< [rows of a block, inner values] of the MLP or of an expert
    std::vector<float> routed, ofExpert;            ///< [rows, hidden] of one expert, before and after
    std::vector<float> tail;                        ///< [rows, hidden] that are needed, where some are not
    std::vector<AttentionScratch> scratch;          ///< of every worker

private:
    std::vector<Angles> angles_, longAngles_; ///< of Network::ropes
    std::vector<std::size_t> longFrom_;       ///< longer chunks have longAngles_
};

} // namespace qs::eval
