// SPDX-License-Identifier: GPL-3.0-or-later
// Any input must give a list of tensors or an error. Tensors must lie inside the file and not overlap.
#include "core/model/safetensors/safetensors.h"

#include <cstdlib>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    // The length of the header is derived from the input: a random one would be refused at once.
    std::vector<std::byte> file(8 + size);
    const std::size_t header = size == 0 ? 0 : std::min<std::size_t>(size - 1, size - 1 - data[size - 1] % size);
    for (std::size_t i = 0; i < 8; ++i) file[i] = std::byte(std::uint64_t(header) >> (8 * i));
    for (std::size_t i = 0; i < size; ++i) file[8 + i] = std::byte(data[i]);
    const auto parsed = qs::parseSafetensorsHeader(file, "fuzz");
    if (!parsed) {
        if (parsed.error().message.empty()) std::abort();
        return 0;
    }
    std::uint64_t end = 8 + header;
    for (const auto& tensor : parsed->tensors) {
        if (tensor.offset != end || tensor.bytes > file.size() - tensor.offset) std::abort();
        end = tensor.offset + tensor.bytes;
    }
    if (end != file.size()) std::abort();
    return 0;
}
