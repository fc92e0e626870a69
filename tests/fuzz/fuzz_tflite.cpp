// SPDX-License-Identifier: GPL-3.0-or-later
// Any input must give a model or an error. Tensors, scales and zero points must lie inside the file.
#include "core/model/tflite/tflite.h"

#include <cstdlib>
#include <cstring>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::vector<std::byte> file(size);
    if (size > 0) std::memcpy(file.data(), data, size);
    if (size >= 8) std::memcpy(file.data() + 4, "TFL3", 4); // another magic would be refused at once
    const auto parsed = qs::tflite::parse(file, size, "m.tflite");
    if (!parsed) {
        if (parsed.error().message.empty()) std::abort();
        return 0;
    }
    const auto inside = [&](std::uint64_t at, std::uint64_t bytes) {
        if (at > size || bytes > size - at) std::abort();
    };
    for (const auto& tensor : parsed->tensors) {
        inside(tensor.info.offset, tensor.info.bytes);
        if (!tensor.quantized) continue;
        inside(tensor.quantized->scales.offset, 4 * tensor.quantized->scales.count);
        inside(tensor.quantized->zeroPoints.offset, 8 * tensor.quantized->zeroPoints.count);
    }
    return 0;
}
