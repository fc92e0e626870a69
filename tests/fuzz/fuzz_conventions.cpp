// SPDX-License-Identifier: GPL-3.0-or-later
// Quantized layers stored as several tensors, with config.json. Any input must give a list of tensors, and each layer
// must decode to the same values for any way of reading it.
#include "core/model/derived_tensor.h"
#include "tests/fuzz/checkpoint_bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto model = qs::fuzz::openCheckpoint(data, size);
    if (!model) return 0;
    std::vector<std::byte> whole, part;
    for (const auto& tensor : model->tensors) {
        if (!tensor.derived) continue;
        std::uint64_t elements = 1;
        for (const auto dim : tensor.shape) {
            if (dim < 0) std::abort();
            elements *= std::uint64_t(dim);
        }
        const std::uint64_t bits = std::uint64_t(qs::info(tensor.dtype).bits);
        if (elements != tensor.elements || tensor.bytes != elements * bits / 8) std::abort();
        const auto fields = tensor.derived->fields();
        if (fields.empty() || tensor.derived->storedBytes() == 0 || tensor.derived->description().empty()) std::abort();
        if (tensor.bytes == 0 || tensor.bytes > 1 << 21) continue;
        whole.resize(tensor.bytes);
        tensor.derived->read(0, whole);
        for (const std::uint64_t begin : {std::uint64_t(0), tensor.bytes / 3, tensor.bytes - 1}) {
            part.assign(std::size_t(std::min<std::uint64_t>(tensor.bytes - begin, 101)), std::byte(0xAA));
            tensor.derived->read(begin, part);
            if (!std::equal(part.begin(), part.end(), whole.begin() + std::ptrdiff_t(begin))) std::abort();
        }
    }
    return 0;
}
