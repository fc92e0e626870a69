// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// How a chunk of a zarr array lies in its file: elements, then at most one compressor, then at most one check sum.

#include "core/base/result.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace qs::zarr {

enum class Compressor { None, Zstd, Zlib, Gzip, Blosc };

struct Chain {
    Compressor compressor = Compressor::None;
    bool hasCrc32c = false; ///< four bytes at the end
    bool isFortran = false; ///< the first index runs fastest
    bool isBigEndian = false;
    unsigned signedBits = 0; ///< of int2 and int4, the lowest of a byte each, whose other bits say nothing; 0: all
};
const char* nameOf(Compressor compressor); ///< "zstd"

/// The `size` bytes that `stored` holds, no more and no fewer. Errors are the end of a sentence. `elementBytes`: of the
/// numbers whose bytes are turned round where the chain is big-endian.
Result<std::vector<std::byte>> decode(std::span<const std::byte> stored, const Chain& chain, std::size_t size,
                                      unsigned elementBytes);

} // namespace qs::zarr
