// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/pjrt/emit.h"
#include "plugins/pjrt/decode.h"

#include <cfloat>

namespace qs::pjrt {
namespace {

ElementType typeOf(const std::string& element) {
    for (const auto type : {ElementType::S8, ElementType::S32, ElementType::U8, ElementType::F16, ElementType::F32,
                            ElementType::BF16, ElementType::F8E5M2, ElementType::F8E4M3FN})
        if (element == elementName(type)) return type;
    return ElementType::Invalid;
}

class Writer {
public:
    Writer(const Operands& o, const Variant& v, const Geometry& g, ElementType codeType)
        : o_(o), w_(o.weight), v_(v), g_(g), codeType_(codeType) {}
    Emitted write();

private:
    struct Quantized {
        Value codes, scale;
    };
    Value argument(Role role, const char* name, ElementType type, const Dims& dims);
    Quantized quantize(const Value& x);
    Value matmul();
    Value dequantize();
    Value activation(); ///< x as [M, padded K], in the type of the products
    Value planeOfX(const Value& x, int plane, int planes);
    Value sumOfPlanes(const std::vector<Value>& parts);
    Value blockDot(const Value& x, const Value& weights);
    Value perColumn(const Value& y, const Value& vector) {
        return p_.binary("multiply", y, p_.broadcast(vector, {1}, y.dims));
    }
    Value perRow(const Value& y, const Value& vector) {
        return p_.binary("multiply", y, p_.broadcast(vector, {0}, y.dims));
    }
    void weightArguments();
    std::string computeElement() const {
        return v_.compute == Compute::F32 ? "f32" : v_.compute == Compute::BF16 ? "bf16" : "i8";
    }

    const Operands& o_;
    const Weight& w_;
    const Variant& v_;
    const Geometry& g_;
    ElementType codeType_;
    Program p_;
    Emitted out_;
    Value codes_, scale_, table_, bias_, actScale_;
};

Value Writer::argument(Role role, const char* name, ElementType type, const Dims& dims) {
    out_.arguments.push_back({role, {type, dims}});
    return p_.argument(name, elementName(type), dims);
}

void Writer::weightArguments() {
    const bool packed = w_.perByte > 1;
    codes_ =
        argument(Role::Codes, "w", packed ? ElementType::U8 : codeType_, {g_.rows, packed ? g_.rowBytes : g_.cols});
    if (w_.share != ScaleShare::None) {
        Dims dims{std::int64_t(w_.scaleCount)};
        if (w_.share == ScaleShare::Tensor) dims = {};
        if (w_.share == ScaleShare::BlockOfColumns) dims = {g_.rows, g_.blocksPerRow(w_)};
        if (w_.share == ScaleShare::BlockOfRows) dims = {g_.blocksPerColumn(w_), g_.cols};
        scale_ = argument(Role::Scale, "ws", ElementType::F32, dims);
    }
    if (v_.decode == Decode::Gather)
        table_ = argument(Role::Table, "table", ElementType::F32, {std::int64_t(w_.levels.size())});
    if (o_.bias && o_.op == Op::Matmul) bias_ = argument(Role::Bias, "bias", ElementType::F32, {o_.n});
}

Writer::Quantized Writer::quantize(const Value& x) {
    const auto most = argument(Role::ActMax, "qmax", ElementType::F32, {});
    const auto peak = p_.reduce("maximum", p_.unary("abs", x), 1, 0.0f);
    const auto ratio = p_.binary("divide", peak, p_.broadcast(most, {}, peak.dims));
    const auto scale = p_.binary("add", ratio, p_.constant(FLT_MIN, "f32", peak.dims));
    const auto scaled = p_.binary("divide", x, p_.broadcast(scale, {0}, x.dims));
    return {p_.convert(p_.unary("round_nearest_even", scaled), "i8"), scale};
}

Value Writer::activation() {
    const Dims dims{o_.m, o_.k};
    Value x;
    if (o_.act == Act::Int8Given) {
        x = argument(Role::Act, "x", ElementType::S8, dims);
        actScale_ = argument(Role::ActScale, "xs", ElementType::F32, {o_.m});
    } else {
        x = argument(Role::Act, "x", o_.act == Act::BF16 ? ElementType::BF16 : ElementType::F32, dims);
    }
    weightArguments();
    if (o_.act == Act::Int8Dynamic) {
        const auto quantized = quantize(x);
        x = quantized.codes;
        actScale_ = quantized.scale;
    }
    if (w_.scalePerInput()) x = perColumn(p_.convert(x, "f32"), scale_);
    return p_.padEnd(p_.convert(x, computeElement()), 1, g_.k(w_.kn));
}

Value Writer::planeOfX(const Value& x, int plane, int planes) {
    if (planes == 1 || w_.kn) return x; // planes of a [K,N] weight are columns of the result, so all need the whole x
    const auto length = x.dims[1] / planes;
    if (v_.planes == Planes::Contiguous) return p_.slice(x, 1, plane * length, (plane + 1) * length);
    return p_.slice(x, 1, plane, x.dims[1], planes);
}

Value Writer::sumOfPlanes(const std::vector<Value>& parts) {
    if (parts.size() == 1) return parts.front();
    if (!w_.kn) {
        auto sum = parts.front();
        for (std::size_t i = 1; i < parts.size(); ++i) sum = p_.binary("add", sum, parts[i]);
        return sum;
    }
    if (v_.planes == Planes::Contiguous) return p_.concatenate(parts, 1);
    auto columns = parts;
    for (auto& part : columns) part = p_.reshape(part, {o_.m, part.dims[1], 1});
    return p_.reshape(p_.concatenate(columns, 2), {o_.m, g_.cols});
}

/// Computes a dot for each block of K, multiplies each by its scale, and adds them.
Value Writer::blockDot(const Value& x, const Value& weights) {
    const auto blocks = x.dims[1] / w_.block;
    const auto x3 = p_.reshape(x, {o_.m, blocks, w_.block});
    const auto w3 = p_.reshape(weights, w_.kn ? Dims{blocks, w_.block, g_.cols} : Dims{g_.rows, blocks, w_.block});
    const auto sums = p_.dot(x3, w3, w_.kn ? DotAxes{2, 1, {1}, {0}} : DotAxes{2, 2, {1}, {1}}, "i32", false);
    const auto f = p_.convert(sums, "f32"); // its shape is [blocks, M, N]
    const auto scales = p_.broadcast(scale_, w_.kn ? Dims{0, 2} : Dims{2, 0}, f.dims);
    return p_.reduce("add", p_.binary("multiply", f, scales), 0, 0.0f);
}

Value Writer::matmul() {
    const auto x = activation();
    const auto element = computeElement();
    Decoder decoder(p_, w_, v_, g_, codes_, scale_, table_);
    const int planes = decoder.planes();
    out_.decodedBytes = std::uint64_t(g_.rows * g_.cols / planes) * elementBytes(typeOf(element));
    Value y;
    if (v_.compute == Compute::Int8Blocks) {
        y = blockDot(x, decoder.plane(0, element));
    } else {
        std::vector<Value> parts;
        for (int i = 0; i < planes; ++i) {
            const auto weights = decoder.plane(i, element);
            parts.push_back(p_.dot(planeOfX(x, i, planes), weights, {1, w_.kn ? 0 : 1, {}, {}},
                                   v_.compute == Compute::Int8 ? "i32" : "f32", v_.compute == Compute::F32));
        }
        y = p_.convert(sumOfPlanes(parts), "f32");
    }
    y = p_.slice(y, 1, 0, o_.n);
    if (w_.share == ScaleShare::Tensor) y = p_.binary("multiply", y, p_.broadcast(scale_, {}, y.dims));
    if (o_.act == Act::Int8Dynamic || o_.act == Act::Int8Given) y = perRow(y, actScale_);
    if (w_.scalePerOutput()) y = perColumn(y, scale_);
    if (o_.bias) y = p_.binary("add", y, p_.broadcast(bias_, {1}, y.dims));
    return p_.convert(y, o_.out);
}

Value Writer::dequantize() {
    weightArguments();
    Decoder decoder(p_, w_, v_, g_, codes_, scale_, table_);
    auto value = decoder.plane(0, "f32");
    value = p_.slice(p_.slice(value, 0, 0, w_.rows), 1, 0, w_.columns);
    if (w_.share == ScaleShare::Tensor) value = p_.binary("multiply", value, p_.broadcast(scale_, {}, value.dims));
    if (w_.share == ScaleShare::Row) value = perRow(value, scale_);
    if (w_.share == ScaleShare::Column) value = perColumn(value, scale_);
    return p_.convert(value, o_.out);
}

Emitted Writer::write() {
    std::vector<Value> results;
    if (o_.op == Op::QuantizeAct) {
        const auto x = argument(Role::Act, "x", ElementType::F32, {o_.m, o_.k});
        const auto quantized = quantize(x);
        results = {quantized.codes, quantized.scale};
    } else {
        results = {o_.op == Op::Dequantize ? dequantize() : matmul()};
    }
    for (const auto& result : results) out_.results.push_back({typeOf(result.element), result.dims});
    out_.text = p_.text(v_.id, results);
    return out_;
}

} // namespace

const char* elementName(ElementType type) {
    switch (type) {
    case ElementType::S8: return "i8";
    case ElementType::S32: return "i32";
    case ElementType::U8: return "ui8";
    case ElementType::F16: return "f16";
    case ElementType::F32: return "f32";
    case ElementType::BF16: return "bf16";
    case ElementType::F8E5M2: return "f8E5M2";
    case ElementType::F8E4M3FN: return "f8E4M3FN";
    case ElementType::Invalid: break;
    }
    return "";
}

Emitted emit(const Operands& operands, const Variant& variant, const Geometry& geometry, ElementType codeType) {
    return Writer(operands, variant, geometry, codeType).write();
}

Emitted emitRoof(const std::string& kind, std::int64_t side) {
    Emitted out;
    Program p;
    const auto argument = [&](const char* name, ElementType type, const Dims& dims) {
        out.arguments.push_back({Role::Codes, {type, dims}});
        return p.argument(name, elementName(type), dims);
    };
    Value result;
    if (kind == "read_bw") {
        const auto ones = argument("x", ElementType::F32, {1, side});
        result = p.dot(ones, argument("w", ElementType::F32, {side, side}), {1, 1, {}, {}}, "f32", false);
    } else if (kind == "read_bw_reduce") {
        result = p.reduce("add", argument("w", ElementType::F32, {side, side}), 0, 0.0f);
    } else {
        const auto type = kind == "i8" ? ElementType::S8 : kind == "bf16" ? ElementType::BF16 : ElementType::F32;
        const auto a = argument("a", type, {side, side}), b = argument("b", type, {side, side});
        result = p.dot(a, b, {1, 1, {}, {}}, kind == "i8" ? "i32" : "f32", kind == "f32");
    }
    out.results = {{typeOf(result.element), result.dims}};
    out.text = p.text("roof_" + kind, {result});
    return out;
}

} // namespace qs::pjrt
