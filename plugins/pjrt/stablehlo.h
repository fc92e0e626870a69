// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Writes a StableHLO module as text. It has one function, @main. Each call adds one operation and returns its value
// with its shape. Only basic operations are used, in the form that the parser of every PJRT plugin accepts.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace qs::pjrt {

using Dims = std::vector<std::int64_t>;

struct Value {
    std::string name;    ///< "%3"
    std::string element; ///< "f32" "bf16" "f16" "i8" "ui8" "i32" "i1" "f8E4M3FN" "f8E5M2"
    Dims dims;
    std::string type() const; ///< "tensor<4x128xf32>"
};

/// The axes of a dot: the axis of each operand that is summed over, and its batch axes, which may be empty.
struct DotAxes {
    std::int64_t left, right;
    Dims leftBatch, rightBatch;
};

class Program {
public:
    Value argument(const char* name, const std::string& element, const Dims& dims);
    Value constant(const std::string& literal, const std::string& element, const Dims& dims); ///< all elements equal
    Value constant(float value, const std::string& element, const Dims& dims);
    Value unary(const char* operation, const Value& a);
    Value binary(const char* operation, const Value& a, const Value& b);
    Value convert(const Value& a, const std::string& element); ///< returns `a` if it already has this type
    Value notEqual(const Value& a, const Value& b);            ///< for unsigned integers
    Value select(const Value& condition, const Value& yes, const Value& no);
    Value reshape(const Value& a, const Dims& dims);
    Value broadcast(const Value& a, const Dims& mapping, const Dims& dims);
    Value concatenate(const std::vector<Value>& parts, std::int64_t axis);
    Value slice(const Value& a, std::int64_t axis, std::int64_t begin, std::int64_t end, std::int64_t step = 1);
    Value padEnd(const Value& a, std::int64_t axis, std::int64_t size); ///< adds zeros until the axis has `size`
    Value gather(const Value& table, const Value& indices); ///< table[index] for each index; has the shape of `indices`
    Value dot(const Value& a, const Value& b, const DotAxes& axes, const std::string& element, bool highest);
    Value reduce(const char* operation, const Value& a, std::int64_t axis, float initial);

    /// The text of the whole module.
    std::string text(const std::string& name, const std::vector<Value>& results) const;

private:
    Value add(const std::string& element, const Dims& dims, const std::string& rest);
    std::string arguments_, body_;
    int next_ = 0;
};

std::string floatLiteral(float value);

} // namespace qs::pjrt
