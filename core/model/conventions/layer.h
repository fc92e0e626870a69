// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Shared by the decoders of all conventions: fields in files, and values in f32 that are rounded once to the layer's
// dtype.

#include "core/model/derived_tensor.h"
#include "core/model/model.h"

#include <memory>
#include <string>
#include <vector>

namespace qs {

/// A stored tensor that holds a part of a layer. It is in `file`, unless `info.derived` is set.
struct Field {
    TensorInfo info;
    std::shared_ptr<MappedFile> file;

    /// Bytes [begin, begin + n) of the field; the span points into the mapping or into `scratch`.
    std::span<const std::byte> read(std::uint64_t begin, std::size_t n, std::vector<std::byte>& scratch) const;
    /// Elements [begin, begin + n) as f32. Types: F32, F16, BF16, F8_E4M3, F8_E5M2, F8_E8M0, and integers of up to 32
    /// bits.
    std::vector<float> floats(std::uint64_t begin, std::size_t n) const;
    /// Elements [begin, begin + n) as 32-bit words, for I32 and U32.
    std::vector<std::uint32_t> words(std::uint64_t begin, std::size_t n) const;
    /// Elements [begin, begin + n) as bytes, for types of one byte.
    std::vector<std::uint8_t> octets(std::uint64_t begin, std::size_t n) const;
};

/// A quantized layer. Subclasses implement values(), which dequantizes a range of elements.
class Layer : public DerivedTensor {
public:
    const char* typeId() const override { return type_; }
    std::string description() const override { return description_; }
    std::vector<std::string> fields() const override;
    std::uint64_t storedBytes() const override;
    std::span<const TensorInfo> parts() const override { return parts_; }
    void read(std::uint64_t begin, std::span<std::byte> into) const override;
    Result<void> unchanged() const override;
    void release() const override;

    DType dtype() const { return dtype_; }
    const std::vector<std::int64_t>& shape() const { return shape_; }
    std::uint64_t elements() const { return elements_; }
    /// Index of the file that holds the first field.
    std::uint32_t file() const { return parts_.front().file; }

    /// Dequantizes elements [begin, begin + n) to f32, before they are rounded to the dtype (F32, F16 or BF16).
    virtual void values(std::uint64_t begin, std::size_t n, float* out) const = 0;

protected:
    struct About {
        const char* type;
        std::string description;
        DType dtype;
        std::vector<std::int64_t> shape;
        std::vector<Field> fields; ///< the field with the codes first
    };
    explicit Layer(About about);
    const Field& field(std::size_t i) const { return fields_[i]; }

private:
    const char* type_;
    std::string description_;
    DType dtype_;
    std::vector<std::int64_t> shape_;
    std::uint64_t elements_ = 1;
    std::vector<Field> fields_;
    std::vector<TensorInfo> parts_;
};

/// Unpacks two 4-bit codes per byte, the first in the low bits. `n`: number of codes.
void unpackNibbles(const std::uint8_t* bytes, std::size_t n, std::uint8_t* codes);
/// Values of 8-bit floats. F8_E4M3 has a NaN but no infinities; F8_E5M2 has both.
float e4m3(std::uint8_t code);
float e5m2(std::uint8_t code);
/// Value of an E8M0 scale: 2^(code - 127); 255 is NaN.
float e8m0(std::uint8_t code);
/// Values of the 4-bit float E2M1 (MXFP4, NVFP4): 0, .5, 1, 1.5, 2, 3, 4, 6 and their negatives.
extern const float kE2m1Values[16];
/// Values of bitsandbytes' fp4 codes, which are bit patterns and not sorted by value.
extern const float kBnbFp4Values[16];

} // namespace qs
