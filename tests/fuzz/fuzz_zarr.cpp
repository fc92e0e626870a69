// SPDX-License-Identifier: GPL-3.0-or-later
// The first byte selects the kind of input: a .zarray, a zarr.json, or a chunk of 4096 bytes for each codec.
#include "core/model/zarr/array.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const unsigned kind = data[0] % 7;
    if (kind < 2) {
        const auto array = qs::zarr::parseArray({reinterpret_cast<const char*>(data) + 1, size - 1}, int(kind) + 2);
        if (!array && array.error().message.empty()) std::abort();
        if (!array) return 0;
        if (array->fill.size() != array->elementBytes() || array->chunk.size() != array->shape.size()) std::abort();
        if (array->chunkElements() * array->elementBytes() >= std::uint64_t(1) << 31) std::abort();
        if (array->elements > 0 && array->fileCount() > 0 && array->fileName(array->fileCount() - 1).empty())
            std::abort();
        return 0;
    }
    qs::zarr::Chain chain;
    chain.compressor = qs::zarr::Compressor(kind - 2);
    chain.isBigEndian = size & 1;
    const auto decoded = qs::zarr::decode(std::as_bytes(std::span(data + 1, size - 1)), chain, 4096, 4);
    if (decoded ? decoded->size() != 4096 : decoded.error().message.empty()) std::abort();
    return 0;
}
