// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/verify/rounded_tensor.h"

#include "core/layouts/slabs.h"
#include "core/model/derived_tensor.h"
#include "core/model/mapped_file.h"
#include "core/quant/encode/encode.h"

#include <cstring>

namespace qs {
namespace {

class Rounded final : public DerivedTensor {
public:
    Rounded(const TensorView& source, DType type) : source_(source), type_(type) {}
    const char* typeId() const override { return info(type_).id; }
    std::string description() const override { return std::string("rounded to ") + info(type_).id; }
    std::vector<std::string> fields() const override { return {}; }
    std::uint64_t storedBytes() const override { return qs::storedBytes(*source_.info); }
    void read(std::uint64_t begin, std::span<std::byte> into) const override {
        constexpr std::uint64_t kSize = 2;
        if (into.empty()) return;
        const std::uint64_t first = begin / kSize, end = (begin + into.size() + kSize - 1) / kSize;
        thread_local std::vector<float> values;
        thread_local std::vector<std::byte> halves;
        values.resize(std::size_t(end - first)), halves.resize(values.size() * kSize);
        loadF32(source_, first, values.size(), values.data());
        appendAs(type_, values.data(), values.size(), halves.data());
        std::memcpy(into.data(), halves.data() + begin % kSize, into.size());
    }
    Result<void> unchanged() const override {
        if (source_.info->derived) return source_.info->derived->unchanged();
        return source_.file ? source_.file->unchanged() : Result<void>();
    }
    void release() const override {
        if (source_.info->derived) source_.info->derived->release();
    }

private:
    TensorView source_;
    DType type_;
};

} // namespace

TensorInfo roundedTensor(const TensorView& source, DType type) {
    TensorInfo out = *source.info;
    out.dtype = type, out.packed = nullptr;
    out.bytes = out.elements * std::uint64_t(info(type).bits) / 8, out.offset = 0;
    out.derived = std::make_shared<Rounded>(source, type);
    return out;
}

} // namespace qs
