// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/quant/encode/native_packing.h"

#include "core/quant/encode/nibbles.h"

#include <algorithm>

namespace qs {
namespace {

constexpr unsigned kPowers[] = {1, 3, 9, 27, 81};

} // namespace

NativePacking::NativePacking(const QuantSpec& spec)
    : format_(&spec.traits()), trits_(format_->kind == FormatKind::Sign && format_->levels.size() == 3),
      bits_(format_->levels.size() == 2 ? 1 : spec.codeBits()) {
    const FormatTraits& format = *format_;
    if (!format.bytes.empty()) floats_ = floatTable(format);
}

std::uint64_t NativePacking::rowBytes(std::uint64_t features) const {
    return trits_ ? (features + 4) / 5 : (features * bits_ + 7) / 8;
}

std::uint64_t NativePacking::byteOf(std::uint64_t column) const { return trits_ ? column / 5 : column * bits_ / 8; }

void NativePacking::add(const std::uint8_t* codes, std::size_t n, std::uint64_t first, std::uint8_t* bytes) const {
    const std::uint64_t begin = byteOf(first);
    std::size_t i = 0;
    if (!trits_ && bits_ == 4 && format_->bytes.empty() && first % 2 == 0) {
        i = n / 2 * 2;
        packNibbles<FirstNibble::Low>(codes, i, bytes); // whole bytes: no other call adds to these
    }
    for (; i < n; ++i) {
        const std::uint64_t column = first + i;
        std::uint8_t* at = bytes + (byteOf(column) - begin);
        if (trits_) {
            *at = std::uint8_t(*at + codes[i] * kPowers[column % 5]);
            continue;
        }
        const unsigned stored = format_->bytes.empty() ? codes[i] : format_->bytes[codes[i]];
        const unsigned shifted = stored << (column * bits_ % 8);
        at[0] = std::uint8_t(at[0] | (shifted & 255));
        if (shifted > 255) at[1] = std::uint8_t(at[1] | shifted >> 8);
    }
}

void NativePacking::values(const std::uint8_t* bytes, std::size_t n, std::uint64_t first, std::span<const float> levels,
                           float* out) const {
    const std::uint64_t begin = byteOf(first);
    if (!floats_.empty() && bits_ == 8) {
        for (std::size_t i = 0; i < n; ++i) out[i] = floats_[bytes[i]];
        return;
    }
    const auto last = unsigned(levels.size() - 1); // a code that the format lacks counts as its last
    std::size_t i = 0;
    if (!trits_ && bits_ == 4 && first % 2 == 0) {
        float table[16];
        for (unsigned code = 0; code < 16; ++code)
            table[code] = floats_.empty() ? levels[std::min(code, last)] : floats_[code];
        for (; i + 1 < n; i += 2) out[i] = table[bytes[i / 2] & 15], out[i + 1] = table[bytes[i / 2] >> 4];
    }
    for (; i < n; ++i) {
        const std::uint64_t column = first + i;
        const std::uint8_t* at = bytes + (byteOf(column) - begin);
        unsigned code = 0;
        if (trits_) {
            code = *at / kPowers[column % 5] % 3;
        } else {
            const unsigned shift = unsigned(column * bits_ % 8);
            const unsigned both = shift + bits_ > 8 ? unsigned(at[1]) << 8 | at[0] : at[0];
            code = both >> shift & ((1u << bits_) - 1);
        }
        out[i] = floats_.empty() ? levels[std::min(code, last)] : floats_[code];
    }
}

} // namespace qs
