// SPDX-License-Identifier: GPL-3.0-or-later
// Any input must give an importance matrix or an error. Tensors must lie inside the file and not overlap.
#include "core/model/gguf/imatrix.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::vector<std::byte> file(size);
    if (size > 0) std::memcpy(file.data(), data, size);
    if (size >= 8) // high bytes of the counts: random ones would be refused at once
        for (const std::size_t at : {2, 3, 6, 7}) file[at] = std::byte(0);
    const auto read = [&](std::uint64_t offset, std::span<std::byte> into) {
        if (into.size() > size || offset > size - into.size()) std::abort();
        std::copy_n(file.begin() + std::ptrdiff_t(offset), into.size(), into.begin());
    };
    qs::looksLikeImatrix(file);
    auto parsed = qs::parseImatrix(size, read, "fuzz");
    if (!parsed) {
        if (parsed.error().message.empty()) std::abort();
        return 0;
    }
    std::sort(parsed->begin(), parsed->end(), [](const auto& a, const auto& b) { return a.offset < b.offset; });
    std::uint64_t end = 0;
    for (const auto& tensor : *parsed) {
        if (tensor.offset < end || tensor.bytes > size || tensor.offset > size - tensor.bytes) std::abort();
        end = tensor.offset + tensor.bytes;
    }
    return 0;
}
