// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Working memory that all layers of a network share during a forward pass: threads, angles, and the values between
// products.

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

/// How many tokens go through a layer at once: some whole chunks. A product takes a part of their rows (a block). A
/// block has enough rows that the kernel for many rows computes it. So the result of a row does not depend on the other
/// rows.
struct PassSizes {
    /// `chunks` is the number of chunks of the text.
    PassSizes(std::size_t context, std::size_t chunks);
    std::size_t context, chunks;     ///< tokens of a chunk; chunks that go through a layer together
    std::size_t blocks, rowsOfBlock; ///< blocks * rowsOfBlock is at least chunks * context
    /// Sizes for only the positions from `first` on in every chunk. The rows of a block stay the same.
    PassSizes from(std::size_t first) const;
    std::size_t tokens() const { return context * chunks; }
    std::size_t rows() const { return blocks * rowsOfBlock; }
};

/// The rows of a layer's output that are needed: in every chunk the positions from `first` on.
struct Tail {
    Tail(const PassSizes& all, std::size_t first) : context(all.context), first(first), sizes(all.from(first)) {}
    std::size_t context; ///< tokens of a whole chunk
    std::size_t first;   ///< first needed position of a chunk; 0: all rows are needed
    PassSizes sizes;     ///< sizes of the needed rows
    /// The number of needed rows among `tokens` rows. They are whole chunks, but the last one may be shorter.
    std::size_t rows(std::size_t tokens) const;
    /// gather() copies the needed rows of x, [tokens, width], side by side to `rows`; scatter() copies them back. Both
    /// pointers may be equal.
    void gather(const float* x, std::size_t tokens, std::size_t width, float* rows) const;
    void scatter(const float* rows, std::size_t tokens, std::size_t width, float* x) const;
};

/// Tokens that an expert multiplies at once: at most PassSizes::rowsOfBlock.
constexpr std::size_t kExpertRows = 48;

struct PassRoom {
    PassRoom(const Network& network, const PassSizes& sizes, unsigned threads = workerCount());
    /// Size of the values in bytes.
    std::size_t bytes() const;

    PassSizes sizes;
    Workers workers;
    /// The angles of a rope (rotary position embedding) of the network, for a chunk of this many tokens.
    const Angles& anglesOf(std::size_t rope, std::size_t tokens) const {
        return tokens > longFrom_[rope] ? longAngles_[rope] : angles_[rope];
    }
    std::vector<float> input, result;               ///< [rows, hidden] before and after attention and MLP
    std::vector<float> projected, packed, attended; ///< used by Attention
    std::vector<float> wide, activated;             ///< [rows of a block, inner values] of the MLP or of an expert
    std::vector<float> routed, ofExpert;            ///< [rows, hidden]: inputs and outputs of one expert
    std::vector<float> tail;                        ///< [rows, hidden]: the needed rows, if some rows are not needed
    std::vector<AttentionScratch> scratch;          ///< one for each worker

private:
    std::vector<Angles> angles_, longAngles_; ///< one for each of Network::ropes
    std::vector<std::size_t> longFrom_;       ///< chunks with more tokens use longAngles_
};

} // namespace qs::eval
