// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// One TensorProto, and where its elements are.

#include "core/model/dtype.h"
#include "core/model/onnx/field_values.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace qs::onnx {

/// A number of TensorProto.DataType. Elements of less than a byte lie low bits first.
struct ElementType {
    int number;
    const char* id; ///< as ONNX names it
    DType dtype;    ///< of the elements as they are read: I8 of INT4, F32 of FLOAT4E2M1
    unsigned bits;  ///< of an element in raw_data
    int field;      ///< of values that do not lie in raw_data
    Wire wire;
    unsigned width; ///< bytes of raw_data that one value of that field stands for
};
const ElementType* findElementType(std::int64_t number); ///< null: STRING, COMPLEX128, and types of later versions

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
    std::uint64_t at = 0; ///< of its message in the file

    // Its bytes: where they are in this file, or in another, or values of a field.
    std::optional<std::uint64_t> offset;
    std::optional<External> external;
    std::shared_ptr<const FieldValues> values;

    /// Values that are one array in the file are bytes at an offset.
    void keep(std::shared_ptr<const FieldValues> found);
};

struct ParsedTensor {
    Tensor tensor;
    const char* left = nullptr; ///< why it is not among the tensors: "holds texts"
    std::string wrong;          ///< what is wrong with it, and where
    std::uint64_t at = 0;
};
/// It is called `prefix` and then `called`, or its own name, or unnamed_N.
ParsedTensor parseTensor(const ReadBytes& read, Range message, const std::string& prefix, const std::string& called,
                         std::size_t unnamed);

std::string shortText(const ReadBytes& read, Range range); ///< at most kMostText bytes of it
constexpr std::size_t kMostText = 4096, kMostName = std::size_t(1) << 20;
bool isText(std::string_view name);

} // namespace qs::onnx
