// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What `__metadata__` says of a quantized tensor: "quantscope.NAME" = {"spec", "shape", "dtype"}, and
// "layout" where it is not eformer.

#include "core/model/conventions/convention.h" // kStoredPrefix
#include "core/quant/spec/spec.h"

#include <memory>
#include <optional>

namespace qs {

struct Layout;

/// Key in the metadata of a file of decoded tensors: it says who wrote it.
inline constexpr const char* kDecodedMark = "quantscope";

struct StoredTensor {
    std::string name;
    QuantSpec spec;
    std::vector<std::int64_t> shape;
    DType dtype = DType::F32;
    std::uint64_t elements = 0;
    bool native = false;                     ///< of the native layout
    bool columnScales = false;               ///< NAME.column_scale: what decoded columns are divided by
    std::vector<std::string> fields() const; ///< names of the tensors that hold it
};
std::string storedText(const TensorInfo& tensor, const QuantSpec& spec, const Layout& layout,
                       bool columnScales = false);
/// `key` with its prefix; the sentence says what is wrong with the entry.
Result<StoredTensor> parseStored(const std::string& key, const std::string& text);

/// Whether eformer has an array for such codes: 4-bit codebooks in whole blocks, bytes, or two bits a value.
bool hasEformerFields(const FormatTraits& format);

/// Shape of NAME.codes in the native layout.
std::vector<std::int64_t> nativeShape(const QuantSpec& spec, std::span<const std::int64_t> shape);

/// What decodes a stored tensor out of a model's fields, any range of it, from any thread.
class StoredValues {
public:
    virtual ~StoredValues() = default;
    virtual DType dtype() const = 0;
    virtual const std::vector<std::int64_t>& shape() const = 0;
    virtual std::uint64_t elements() const = 0;
    /// `n` elements from `begin` on, in the dtype.
    virtual void read(std::uint64_t begin, std::size_t n, std::byte* into) const = 0;
    /// How many of the values read so far were beyond the dtype and became its largest.
    virtual std::uint64_t beyond() const = 0;
};
Result<std::shared_ptr<const StoredValues>> storedValues(const Model& model, StoredTensor stored,
                                                         std::optional<Decode> decode);

/// The tensor to write that decodes a stored one out of the model's fields. Writing it sets `beyond`, unless it is null:
/// see StoredValues.
struct TensorToWrite;
Result<TensorToWrite> decodeStored(const Model& model, StoredTensor stored, std::optional<Decode> decode,
                                   std::uint64_t* beyond = nullptr);

} // namespace qs
