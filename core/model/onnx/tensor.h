// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Parses one TensorProto and finds its elements.

#include "core/model/dtype.h"
#include "core/model/onnx/field_values.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace qs::onnx {

/// An element type, with its number in TensorProto.DataType. Elements of less than 8 bits are packed, lowest bits
/// first.
struct ElementType {
    int number;
    const char* id; ///< name in ONNX
    DType dtype;    ///< of the decoded elements: I8 for INT4, F32 for FLOAT4E2M1
    unsigned bits;  ///< of an element in raw_data
    int field;      ///< number of the TensorProto field for values that are not in raw_data
    Wire wire;      ///< how that field is encoded
    unsigned width; ///< bytes of raw_data that one value of that field replaces
};
const ElementType* findElementType(std::int64_t number); ///< null for STRING, COMPLEX128 and types of later versions

/// external_data: elements that are stored in another file. All numbers in bytes.
struct External {
    std::string location;
    std::uint64_t offset = 0;
    std::optional<std::uint64_t> length;
};

struct Tensor {
    std::string name;
    const ElementType* type = nullptr;
    std::vector<std::int64_t> shape;
    std::uint64_t elements = 0;
    std::uint64_t rawBytes() const { return (elements * type->bits + 7) / 8; }
    std::uint64_t at = 0; ///< offset of its message in the file

    // Its elements: at an offset in this file, in another file, or values of a field.
    std::optional<std::uint64_t> offset;
    std::optional<External> external;
    std::shared_ptr<const FieldValues> values;

    /// Stores values of a field; as an offset, if they are one array in the file.
    void keep(std::shared_ptr<const FieldValues> found);
};

/// What parseTensor() returns.
struct ParsedTensor {
    Tensor tensor;
    const char* left = nullptr; ///< why the tensor is no row, such as "holds texts"; null if it is one
    std::string unread;         ///< why it cannot be read, as the end of a sentence: it is listed all the same
    std::string wrong;          ///< error message if the model is not opened for it, otherwise ""
    std::uint64_t at = 0;       ///< offset of its message in the file
};
/// Parses the TensorProto in `message`. The name is `prefix` followed by `called`, or by its own name, or by
/// "unnamed_N" with N = `unnamed`.
ParsedTensor parseTensor(const ReadBytes& read, Range message, const std::string& prefix, const std::string& called,
                         std::size_t unnamed);

std::string shortText(const ReadBytes& read, Range range); ///< the first kMostText bytes of a text
constexpr std::size_t kMostText = 4096, kMostName = std::size_t(1) << 20, kMostLabel = 100;
/// The name of a node, attribute or function as a part of tensor names. `otherwise` if it is empty, too long or not text.
std::string labelOf(const ReadBytes& read, Range range, const std::string& otherwise, std::size_t most = kMostLabel);
/// True if the text is valid UTF-8 without NUL.
bool isText(std::string_view name);

} // namespace qs::onnx
