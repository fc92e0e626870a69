// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/gguf/packed_type.h"

#include "core/model/gguf/unknown_type.h"
#include "core/model/model.h"
#include "kernels/blocks/block_set.h"
#include "kernels/small_float.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <deque>
#include <shared_mutex>
#include <string>
#include <vector>

namespace qs {
namespace {

float half(const std::uint8_t* in) {
    std::uint16_t bits;
    std::memcpy(&bits, in, 2);
    return f16ToF32(bits);
}

/// Blocks of a scale d (f16) and codes of `bits` bits, the first code in the lowest bits of a byte. Value: (code - 1)
/// d; for one bit: d or -d.
template<int bits, int elements> void decodeLowBits(const std::uint8_t* in, std::size_t blocks, float* out) {
    constexpr int perByte = 8 / bits;
    for (std::size_t b = 0; b < blocks; ++b, in += 2 + elements / perByte, out += elements) {
        const float d = half(in);
        for (int i = 0; i < elements; ++i) {
            const int code = in[2 + i / perByte] >> (i % perByte * bits) & ((1 << bits) - 1);
            out[i] = bits == 1 ? (code ? d : -d) : float(code - 1) * d;
        }
    }
}

/// Block types for activations: a scale, `skipped` bytes, then i8 codes. Sums of codes, which only products need, are
/// not decoded.
template<int elements, int scaleBytes, int skipped, int bytes>
void decodeBytes(const std::uint8_t* in, std::size_t blocks, float* out) {
    for (std::size_t b = 0; b < blocks; ++b, in += bytes, out += elements) {
        float d;
        if constexpr (scaleBytes == 2)
            d = half(in);
        else
            std::memcpy(&d, in, 4);
        for (int i = 0; i < elements; ++i) out[i] = float(std::int8_t(in[scaleBytes + skipped + i])) * d;
    }
}

std::vector<GgmlType> makeTypes() {
    const auto plain = [](unsigned number, DType dtype) { return GgmlType{number, dtype, {}}; };
    const auto block = [](unsigned number, const char* id, BlockFormat format) {
        const BlockCodec* c = codec(format);
        return GgmlType{number, DType::F32, {id, c->elements, c->bytes, c->decode}};
    };
    // Block types that are listed but not decoded: their codebooks of thousands of entries are not part of this
    // program.
    const auto listed = [](unsigned number, const char* id, std::uint32_t bytes) {
        return GgmlType{number, DType::U8, {id, 256, bytes, nullptr}};
    };
    return {
        plain(0, DType::F32),
        plain(1, DType::F16),
        block(2, "Q4_0", BlockFormat::Q4_0),
        block(3, "Q4_1", BlockFormat::Q4_1),
        block(6, "Q5_0", BlockFormat::Q5_0),
        block(7, "Q5_1", BlockFormat::Q5_1),
        block(8, "Q8_0", BlockFormat::Q8_0),
        {9, DType::F32, {"Q8_1", 32, 36, decodeBytes<32, 2, 2, 36>}},
        block(10, "Q2_K", BlockFormat::Q2_K),
        block(11, "Q3_K", BlockFormat::Q3_K),
        block(12, "Q4_K", BlockFormat::Q4_K),
        block(13, "Q5_K", BlockFormat::Q5_K),
        block(14, "Q6_K", BlockFormat::Q6_K),
        {15, DType::F32, {"Q8_K", 256, 292, decodeBytes<256, 4, 0, 292>}},
        listed(16, "IQ2_XXS", 66),
        listed(17, "IQ2_XS", 74),
        listed(18, "IQ3_XXS", 98),
        listed(19, "IQ1_S", 50),
        block(20, "IQ4_NL", BlockFormat::Iq4Nl),
        listed(21, "IQ3_S", 110),
        listed(22, "IQ2_S", 82),
        block(23, "IQ4_XS", BlockFormat::Iq4Xs),
        plain(24, DType::I8),
        plain(25, DType::I16),
        plain(26, DType::I32),
        plain(27, DType::I64),
        plain(28, DType::F64),
        listed(29, "IQ1_M", 56),
        plain(30, DType::BF16),
        block(34, "TQ1_0", BlockFormat::Tq1_0),
        block(35, "TQ2_0", BlockFormat::Tq2_0),
        block(39, "MXFP4", BlockFormat::Mxfp4),
        block(40, "NVFP4", BlockFormat::Nvfp4),
        {41, DType::F32, {"Q1_0", 128, 18, decodeLowBits<1, 128>}},
        {42, DType::F32, {"Q2_0", 64, 18, decodeLowBits<2, 64>}},
    };
}

/// The rows of unknownType(), made when a file has them. They stay for as long as the program runs.
class UnknownTypes {
public:
    const PackedType& row(std::string_view id) {
        const std::unique_lock lock(mutex_);
        const auto found = std::ranges::find_if(rows_, [&](const PackedType& row) { return id == row.id; });
        if (found != rows_.end()) return *found;
        if (rows_.size() >= kMost) return rows_.back();
        return rows_.emplace_back(PackedType{names_.emplace_back(id).c_str(), 1, 0, nullptr});
    }
    const PackedType& at(std::size_t place) {
        const std::shared_lock lock(mutex_);
        return rows_[place];
    }
    std::size_t placeOf(const PackedType& type) {
        const std::shared_lock lock(mutex_);
        const auto found = std::ranges::find_if(rows_, [&](const PackedType& row) { return &row == &type; });
        assert(found != rows_.end());
        return std::size_t(found - rows_.begin());
    }

private:
    static constexpr std::size_t kMost = 200; ///< PackedTypeRef counts to 255, and the known types come first
    std::shared_mutex mutex_;
    std::deque<PackedType> rows_; // deques, because their items stay in place
    std::deque<std::string> names_;
};

UnknownTypes& unknownTypes() {
    static UnknownTypes types;
    return types;
}

} // namespace

std::span<const GgmlType> ggmlTypes() {
    static const auto types = makeTypes();
    return types;
}

PackedTypeRef::PackedTypeRef(const PackedType* type) {
    if (!type) return;
    const auto types = ggmlTypes();
    const auto at = std::ranges::find_if(types, [&](const GgmlType& t) { return &t.packed == type; });
    row_ = std::uint8_t(at != types.end() ? std::size_t(at - types.begin()) + 1
                                          : types.size() + 1 + unknownTypes().placeOf(*type));
}
PackedTypeRef::operator const PackedType*() const {
    if (!row_) return nullptr;
    const auto types = ggmlTypes();
    return row_ <= types.size() ? &types[row_ - 1u].packed : &unknownTypes().at(row_ - 1u - types.size());
}

const PackedType* unknownType(std::string_view id) { return &unknownTypes().row(id); }
const PackedType* unknownType(std::uint32_t number) { return unknownType("GGML_TYPE_" + std::to_string(number)); }

const GgmlType* findGgmlType(std::uint32_t number) {
    const auto types = ggmlTypes();
    const auto at = std::ranges::find_if(types, [&](const GgmlType& t) { return t.number == number; });
    return at == types.end() ? nullptr : &*at;
}

ByteRange bytesOfElements(const TensorInfo& tensor, std::uint64_t begin, std::uint64_t end) {
    if (const PackedType* packed = tensor.packed; packed && packed->bytes > 0)
        return {begin / packed->elements * packed->bytes,
                (end + packed->elements - 1) / packed->elements * packed->bytes};
    const std::uint64_t size = std::uint64_t(info(tensor.dtype).bits) / 8;
    return {begin * size, end * size};
}

} // namespace qs
