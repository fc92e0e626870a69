// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/pjrt/stablehlo.h"

#include <cassert>
#include <charconv>

namespace qs::pjrt {
namespace {

std::string list(const Dims& values) {
    std::string text;
    for (const auto value : values) text += (text.empty() ? "" : ", ") + std::to_string(value);
    return "[" + text + "]";
}

} // namespace

std::string Value::type() const {
    std::string text = "tensor<";
    for (const auto dim : dims) text += std::to_string(dim) + "x";
    return text + element + ">";
}

std::string floatLiteral(float value) {
    char digits[64]; // 9 digits after the point distinguish all f32 numbers
    return {digits, std::to_chars(digits, digits + sizeof digits, value, std::chars_format::scientific, 9).ptr};
}

Value Program::argument(const char* name, const std::string& element, const Dims& dims) {
    Value value{std::string("%") + name, element, dims};
    arguments_ += (arguments_.empty() ? "" : ", ") + value.name + ": " + value.type();
    return value;
}

Value Program::add(const std::string& element, const Dims& dims, const std::string& rest) {
    Value value{"%" + std::to_string(next_++), element, dims};
    body_ += "  " + value.name + " = " + rest + "\n";
    return value;
}

Value Program::constant(const std::string& literal, const std::string& element, const Dims& dims) {
    return add(element, dims, "stablehlo.constant dense<" + literal + "> : " + Value{{}, element, dims}.type());
}

Value Program::constant(float value, const std::string& element, const Dims& dims) {
    return constant(floatLiteral(value), element, dims);
}

Value Program::unary(const char* operation, const Value& a) {
    return add(a.element, a.dims, std::string("stablehlo.") + operation + " " + a.name + " : " + a.type());
}

Value Program::binary(const char* operation, const Value& a, const Value& b) {
    assert(a.dims == b.dims && a.element == b.element);
    return add(a.element, a.dims,
               std::string("stablehlo.") + operation + " " + a.name + ", " + b.name + " : " + a.type());
}

Value Program::convert(const Value& a, const std::string& element) {
    if (a.element == element) return a;
    const Value to{{}, element, a.dims};
    return add(element, a.dims, "stablehlo.convert " + a.name + " : (" + a.type() + ") -> " + to.type());
}

Value Program::notEqual(const Value& a, const Value& b) {
    const Value to{{}, "i1", a.dims};
    return add("i1", a.dims,
               "stablehlo.compare NE, " + a.name + ", " + b.name + ", UNSIGNED : (" + a.type() + ", " + b.type() +
                   ") -> " + to.type());
}

Value Program::select(const Value& condition, const Value& yes, const Value& no) {
    assert(condition.dims == yes.dims && yes.dims == no.dims);
    return add(yes.element, yes.dims,
               "stablehlo.select " + condition.name + ", " + yes.name + ", " + no.name + " : " + condition.type() +
                   ", " + yes.type());
}

Value Program::reshape(const Value& a, const Dims& dims) {
    if (a.dims == dims) return a;
    const Value to{{}, a.element, dims};
    return add(a.element, dims, "stablehlo.reshape " + a.name + " : (" + a.type() + ") -> " + to.type());
}

Value Program::broadcast(const Value& a, const Dims& mapping, const Dims& dims) {
    assert(mapping.size() == a.dims.size());
    const Value to{{}, a.element, dims};
    return add(a.element, dims,
               "stablehlo.broadcast_in_dim " + a.name + ", dims = " + list(mapping) + " : (" + a.type() + ") -> " +
                   to.type());
}

Value Program::concatenate(const std::vector<Value>& parts, std::int64_t axis) {
    if (parts.size() == 1) return parts.front();
    Dims dims = parts.front().dims;
    dims[std::size_t(axis)] = 0;
    std::string names, types;
    for (const auto& part : parts) {
        dims[std::size_t(axis)] += part.dims[std::size_t(axis)];
        names += (names.empty() ? "" : ", ") + part.name;
        types += (types.empty() ? "" : ", ") + part.type();
    }
    const Value to{{}, parts.front().element, dims};
    return add(to.element, dims,
               "stablehlo.concatenate " + names + ", dim = " + std::to_string(axis) + " : (" + types + ") -> " +
                   to.type());
}

Value Program::slice(const Value& a, std::int64_t axis, std::int64_t begin, std::int64_t end, std::int64_t step) {
    if (begin == 0 && end == a.dims[std::size_t(axis)] && step == 1) return a;
    Dims dims = a.dims;
    std::string ranges;
    for (std::size_t i = 0; i < dims.size(); ++i) {
        const bool cut = std::int64_t(i) == axis;
        ranges += (i ? ", " : "") + std::to_string(cut ? begin : 0) + ":" + std::to_string(cut ? end : dims[i]);
        if (cut && step != 1) ranges += ":" + std::to_string(step);
        if (cut) dims[i] = (end - begin + step - 1) / step;
    }
    const Value to{{}, a.element, dims};
    return add(a.element, dims, "stablehlo.slice " + a.name + " [" + ranges + "] : (" + a.type() + ") -> " + to.type());
}

Value Program::padEnd(const Value& a, std::int64_t axis, std::int64_t size) {
    if (a.dims[std::size_t(axis)] == size) return a;
    const bool integer = a.element.find('i') != std::string::npos;
    const auto zero = integer ? constant(std::string("0"), a.element, {}) : constant(0.0f, a.element, {});
    const Dims none(a.dims.size(), 0);
    Dims high = none, dims = a.dims;
    high[std::size_t(axis)] = size - a.dims[std::size_t(axis)];
    dims[std::size_t(axis)] = size;
    const Value to{{}, a.element, dims};
    return add(a.element, dims,
               "stablehlo.pad " + a.name + ", " + zero.name + ", low = " + list(none) + ", high = " + list(high) +
                   ", interior = " + list(none) + " : (" + a.type() + ", " + zero.type() + ") -> " + to.type());
}

Value Program::gather(const Value& table, const Value& indices) {
    const Value to{{}, table.element, indices.dims};
    return add(table.element, indices.dims,
               "\"stablehlo.gather\"(" + table.name + ", " + indices.name +
                   ") {dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], "
                   "index_vector_dim = " +
                   std::to_string(indices.dims.size()) +
                   ">, slice_sizes = array<i64: 1>, indices_are_sorted = false} : (" + table.type() + ", " +
                   indices.type() + ") -> " + to.type());
}

Value Program::dot(const Value& a, const Value& b, const DotAxes& axes, const std::string& element, bool highest) {
    const auto free = [](const Value& v, std::int64_t contracted, const Dims& batch, Dims& out) {
        for (std::size_t i = 0; i < v.dims.size(); ++i) {
            bool used = std::int64_t(i) == contracted;
            for (const auto axis : batch) used = used || axis == std::int64_t(i);
            if (!used) out.push_back(v.dims[i]);
        }
    };
    assert(a.dims[std::size_t(axes.left)] == b.dims[std::size_t(axes.right)]);
    Dims dims;
    for (const auto axis : axes.leftBatch) dims.push_back(a.dims[std::size_t(axis)]);
    free(a, axes.left, axes.leftBatch, dims);
    free(b, axes.right, axes.rightBatch, dims);
    const Value to{{}, element, dims};
    std::string text = "stablehlo.dot_general " + a.name + ", " + b.name;
    if (!axes.leftBatch.empty()) text += ", batching_dims = " + list(axes.leftBatch) + " x " + list(axes.rightBatch);
    text += ", contracting_dims = [" + std::to_string(axes.left) + "] x [" + std::to_string(axes.right) + "]";
    if (highest) text += ", precision = [HIGHEST, HIGHEST]";
    return add(element, dims, text + " : (" + a.type() + ", " + b.type() + ") -> " + to.type());
}

Value Program::reduce(const char* operation, const Value& a, std::int64_t axis, float initial) {
    const auto start = constant(initial, a.element, {});
    Dims dims = a.dims;
    dims.erase(dims.begin() + axis);
    const Value to{{}, a.element, dims};
    return add(a.element, dims,
               "stablehlo.reduce(" + a.name + " init: " + start.name + ") applies stablehlo." + operation +
                   " across dimensions = [" + std::to_string(axis) + "] : (" + a.type() + ", " + start.type() +
                   ") -> " + to.type());
}

std::string Program::text(const std::string& name, const std::vector<Value>& results) const {
    std::string names, types;
    for (const auto& result : results) {
        names += (names.empty() ? "" : ", ") + result.name;
        types += (types.empty() ? "" : ", ") + result.type();
    }
    const auto returned = results.size() == 1 ? types : "(" + types + ")";
    return "module @" + name + " {\n func.func public @main(" + arguments_ + ") -> " + returned + " {\n" + body_ +
           "  return " + names + " : " + types + "\n }\n}\n";
}

} // namespace qs::pjrt
