// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Decodes chunks of zarr arrays. A chunk is its elements, then optionally a compressor, then optionally a checksum.

#include "core/base/result.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace qs::zarr {

enum class Compressor { None, Zstd, Zlib, Gzip, Blosc };

/// The codecs of a chunk.
struct Chain {
    Compressor compressor = Compressor::None;
    bool hasCrc32c = false; ///< the last four bytes are a CRC-32C
    bool isFortran = false; ///< true: the first axis varies fastest
    bool isBigEndian = false;
    /// For int2 and int4: valid low bits of each byte, to be sign-extended; 0: all bits are valid.
    unsigned signedBits = 0;
};
const char* nameOf(Compressor compressor); ///< "zstd"

/// Decodes a chunk to exactly `size` bytes; another size is an error. If the chain is big-endian, numbers of
/// `elementBytes` bytes are converted to little-endian. The error is the end of a sentence.
Result<std::vector<std::byte>> decode(std::span<const std::byte> stored, const Chain& chain, std::size_t size,
                                      unsigned elementBytes);

} // namespace qs::zarr
