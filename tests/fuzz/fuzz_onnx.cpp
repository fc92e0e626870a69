// SPDX-License-Identifier: GPL-3.0-or-later
// Any input must give a model or an error. Nothing may be read beyond the end, and a tensor must be readable from any
// offset.
#include "core/model/onnx/onnx.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const qs::ReadBytes read = [&](std::uint64_t at, std::span<std::byte> into) {
        if (at > size || into.size() > size - at) std::abort();
        if (!into.empty()) std::memcpy(into.data(), data + at, into.size());
    };
    const auto parsed = qs::onnx::parse(size, read, "m.onnx");
    if (!parsed) {
        if (parsed.error().message.empty()) std::abort();
        return 0;
    }
    for (const auto& tensor : parsed->tensors) {
        if (tensor.external) continue; // its extent is compared with its external file
        if (tensor.offset && (*tensor.offset > size || tensor.rawBytes() > size - *tensor.offset)) std::abort();
        if (!tensor.offset && !tensor.values) std::abort();
        if (!tensor.values && tensor.type->bits >= 8) continue;
        const qs::OnnxValues values(read, nullptr, tensor, tensor.offset.value_or(0));
        const std::uint64_t bytes = tensor.elements * std::uint64_t(qs::info(tensor.type->dtype).bits) / 8;
        std::vector<std::byte> out(std::size_t(std::min<std::uint64_t>(bytes, 100)));
        values.read(0, out);
        values.read(bytes - out.size(), out);
        if (bytes > 2)
            values.read(1, std::span(out).first(std::size_t(std::min<std::uint64_t>(bytes - 2, out.size()))));
    }
    return 0;
}
