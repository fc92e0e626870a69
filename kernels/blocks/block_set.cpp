// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/blocks/block_set.h"

#include <utility>

namespace qs {

const BlockSet& bestBlocks() {
    static const BlockSet& set = blocksOf(bestKernels());
    return set;
}

namespace {

/// Forwards the functions of one format to bestBlocks(), which is chosen at the first call.
template<std::size_t format> struct Best {
    static const BlockCodec& codec() { return bestBlocks().codecs[format]; }
    static void encode(const float* x, std::size_t blocks, std::uint8_t* out) { codec().encode(x, blocks, out); }
    static void decode(const std::uint8_t* in, std::size_t blocks, float* out) { codec().decode(in, blocks, out); }
    static void codes(const std::uint8_t* in, std::size_t blocks, std::uint8_t* out) { codec().codes(in, blocks, out); }
    static void scales(const std::uint8_t* in, std::size_t blocks, float* out) { codec().scales(in, blocks, out); }
};

template<std::size_t... format> std::array<BlockCodec, kBlockFormats> codecs(std::index_sequence<format...>) {
    const auto& sizes = scalarBlocks().codecs;
    return {BlockCodec{sizes[format].elements, sizes[format].bytes, Best<format>::encode, Best<format>::decode,
                       Best<format>::codes, Best<format>::scales}...};
}

} // namespace

const BlockSet& blocksOf(const KernelSet& kernels) {
#if defined(__x86_64__)
    for (const BlockSet* set : {&avx2Blocks(), &avx512Blocks()})
        if (std::string_view(set->id) == kernels.id) return *set;
#endif
    (void)kernels;
    return scalarBlocks();
}

const std::array<BlockCodec, kBlockFormats> kBlockCodecs = codecs(std::make_index_sequence<kBlockFormats>());

} // namespace qs
