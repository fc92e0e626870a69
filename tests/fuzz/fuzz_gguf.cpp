// SPDX-License-Identifier: GPL-3.0-or-later
// Any input must give a model or an error. Reading the header in pieces must give the same. Tensors must lie inside the
// file and not overlap, and blocks that can be decoded must decode.
#include "core/model/gguf/gguf.h"
#include "core/model/gguf/packed_type.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    // Sets the magic and the high bytes of the counts: random ones would be refused at once.
    std::vector<std::byte> file(size);
    if (size > 0) std::memcpy(file.data(), data, size);
    if (size >= 24) {
        std::memcpy(file.data(), "GGUF", 4);
        for (const std::size_t at : {5, 6, 7, 10, 11, 12, 13, 14, 15, 18, 19, 20, 21, 22, 23}) file[at] = std::byte(0);
    }
    const auto parsed = qs::parseGgufHeader(file, size, "fuzz");
    if (!parsed) {
        if (parsed.error().message.empty()) std::abort();
        return 0;
    }
    if (parsed->wantsMore) std::abort(); // the whole file was given
    std::uint64_t end = 0;
    std::vector<float> values;
    for (const auto& tensor : parsed->tensors) {
        if (tensor.bytes == 0) continue;
        if (tensor.offset < end || tensor.bytes > size || tensor.offset > size - tensor.bytes) std::abort();
        end = tensor.offset + tensor.bytes;
        if (!tensor.packed || tensor.isUnread()) continue; // plain values; a type that is not known
        const auto& type = *tensor.packed;
        if (tensor.elements % type.elements != 0 || tensor.bytes != tensor.elements / type.elements * type.bytes)
            std::abort();
        if (!type.decode) continue;
        values.resize(tensor.elements);
        type.decode(reinterpret_cast<const std::uint8_t*>(file.data()) + tensor.offset,
                    std::size_t(tensor.elements / type.elements), values.data());
    }
    const std::size_t part = std::min<std::size_t>(size, 1 + (size > 0 ? data[size - 1] * size / 256 : 0));
    const auto again = qs::parseGgufHeader(std::span(file).first(part), size, "fuzz");
    if (!again || (!again->wantsMore && again->tensors.size() != parsed->tensors.size())) std::abort();
    return 0;
}
