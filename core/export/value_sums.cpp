// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/export/value_sums.h"

#include <algorithm>
#include <cstring>
#include <xxhash.h>

namespace qs {
namespace {

template<class Bits> void dropSignOfZeros(std::span<std::byte> values) {
    for (std::size_t at = 0; at + sizeof(Bits) <= values.size(); at += sizeof(Bits)) {
        Bits bits;
        std::memcpy(&bits, values.data() + at, sizeof bits);
        if (Bits(bits << 1) == 0) bits = 0;
        std::memcpy(values.data() + at, &bits, sizeof bits);
    }
}

} // namespace

struct ValueSums::Hash {
    XXH3_state_t* state = XXH3_createState();
    Hash() { XXH3_64bits_reset(state); }
    ~Hash() { XXH3_freeState(state); }
    Hash(const Hash&) = delete;
    Hash& operator=(const Hash&) = delete;
};

ValueSums::ValueSums(DType dtype) : dtype_(dtype), hash_(std::make_unique<Hash>()) {}
ValueSums::~ValueSums() = default;

void ValueSums::add(std::span<const std::byte> values) {
    constexpr std::size_t kBuffer = std::size_t(64) << 10;
    bytes_ += values.size();
    while (!values.empty()) {
        const auto part = values.first(std::min<std::size_t>({values.size(), kBuffer, std::size_t(kPiece - inPiece_)}));
        buffer_.assign(part.begin(), part.end());
        switch (dtype_) {
        case DType::F16:
        case DType::BF16: dropSignOfZeros<std::uint16_t>(buffer_); break;
        case DType::F32: dropSignOfZeros<std::uint32_t>(buffer_); break;
        case DType::F64: dropSignOfZeros<std::uint64_t>(buffer_); break;
        default: break; // bytes that are no floats
        }
        XXH3_64bits_update(hash_->state, buffer_.data(), buffer_.size());
        inPiece_ += part.size();
        values = values.subspan(part.size());
        if (inPiece_ < kPiece) continue;
        sums_.push_back(XXH3_64bits_digest(hash_->state));
        XXH3_64bits_reset(hash_->state);
        inPiece_ = 0;
    }
}

const std::vector<std::uint64_t>& ValueSums::finish() {
    if (inPiece_ > 0) sums_.push_back(XXH3_64bits_digest(hash_->state));
    inPiece_ = 0;
    return sums_;
}

} // namespace qs
