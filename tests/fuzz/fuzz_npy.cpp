// SPDX-License-Identifier: GPL-3.0-or-later
// Any input must give an array or an error. The data of an array must be exactly the bytes after the header.
#include "core/model/npy/npy.h"

#include <cstdlib>
#include <cstring>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::vector<std::byte> file(size);
    if (size > 0) std::memcpy(file.data(), data, size);
    if (size >= 6) std::memcpy(file.data(), "\x93NUMPY", 6); // a random magic would be refused at once
    const auto parsed = qs::parseNpyHeader(file, size);
    if (!parsed) {
        if (parsed.error().message.empty()) std::abort();
        return 0;
    }
    if (parsed->dataBegin > size) std::abort();
    if (parsed->elements * std::uint64_t(qs::info(parsed->dtype).bits) / 8 != size - parsed->dataBegin) std::abort();
    return 0;
}
