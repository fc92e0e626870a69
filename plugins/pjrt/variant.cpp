// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/pjrt/variant.h"
#include "plugins/pjrt/decode.h"
#include "plugins/pjrt/geometry.h"

#include <algorithm>

namespace qs::pjrt {
namespace {

/// Both factors are rounded by up to 2^-9 of their value. Short sums may lose more by cancellation.
constexpr double kBf16Nmse = 5e-5;
constexpr std::int64_t kLongestInt8Sum = 131071; ///< largest K for which 128 * 128 * K is below 2^31

struct Words {
    const char* id;
    const char* title;
};
Words words(Decode decode) {
    switch (decode) {
    case Decode::Convert: return {"convert", "converted"};
    case Decode::Gather: return {"gather", "table by gather"};
    case Decode::Select: return {"select", "table by selects"};
    case Decode::Poly5: return {"poly5", "polynomial decode, approximate"};
    case Decode::Affine: return {"affine", "code to integer"};
    }
    return {};
}
Words words(Planes planes) {
    switch (planes) {
    case Planes::Joined: return {"", ""};
    case Planes::Interleaved: return {"_split", ", a dot per code of a byte"};
    case Planes::Contiguous: return {"_planar", ", planar"};
    }
    return {};
}
Words words(Compute compute) {
    switch (compute) {
    case Compute::F32: return {"_f32", "f32 products (HIGHEST), f32 sums"};
    case Compute::BF16: return {"_bf16", "bf16 products, f32 sums"};
    case Compute::Int8: return {"_i8", "i8 products, exact i32 sums, scales after the dot"};
    case Compute::Int8Blocks: return {"_i8_blocks", "i8 products, exact i32 sums per block, scaled f32 sum of blocks"};
    }
    return {};
}

bool isInteger(Compute compute) { return compute == Compute::Int8 || compute == Compute::Int8Blocks; }

Variant make(const Operands& o, Decode decode, Planes planes, Compute compute) {
    const auto& w = o.weight;
    Variant v;
    v.decode = decode;
    v.planes = planes;
    v.compute = compute;
    std::string format;
    for (const char c : w.format) format += (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ? c : '_';
    const bool approximate = decode == Decode::Poly5 && polynomialLevels(w) != w.levels;
    v.id = format + "_" + words(decode).id + (approximate ? "_approx" : "") + words(planes).id + words(compute).id;
    v.title = w.format + ", " + words(decode).title + words(planes).title;
    v.note = words(compute).title;
    v.product = isInteger(compute) ? "i8" : compute == Compute::BF16 ? "bf16" : "f32";
    v.nmseLimit = compute == Compute::BF16 ? kBf16Nmse : compute == Compute::Int8 ? 1e-12 : 1e-9;
    if (o.out == "bf16") v.nmseLimit = std::max(v.nmseLimit, 1e-5);
    if (w.meaning == CodeMeaning::Float) {
        v.flags |= QS_VARIANT_BASELINE;
        v.id = "dense_" + format + words(compute).id;
        v.title = "dense " + w.format;
    }
    if (approximate) {
        v.flags |= QS_VARIANT_APPROX;
        v.levels = polynomialLevels(w);
    }
    if (repacks(w, v)) v.flags |= QS_VARIANT_REPACKS;
    return v;
}

void addMatmul(const Operands& o, std::vector<Variant>& list) {
    const auto& w = o.weight;
    const bool integerAct = o.act == Act::Int8Dynamic || o.act == Act::Int8Given;
    const auto add = [&](Decode decode, Planes planes, Compute compute) {
        if (planesFit(w, planes)) list.push_back(make(o, decode, planes, compute));
    };
    const auto natural = w.meaning == CodeMeaning::Float ? Decode::Convert
                         : w.isAffine                    ? Decode::Affine
                                                         : Decode::Gather;
    const bool packed = w.perByte > 1, smallTable = w.isTable() && w.bits <= 4;
    const bool nativeFp8 = w.format == "fp8_e4m3" || w.format == "fp8_e5m2";
    for (const auto compute : {Compute::F32, Compute::BF16}) {
        add(natural, Planes::Joined, compute);
        if (nativeFp8 && w.isTable()) add(Decode::Convert, Planes::Joined, compute);
        if (!packed) continue;
        const auto inPlanes = smallTable ? Decode::Select : natural;
        add(inPlanes, Planes::Interleaved, compute);
        add(inPlanes, Planes::Contiguous, compute);
        if (!polynomialLevels(w).empty()) {
            add(Decode::Poly5, Planes::Interleaved, compute);
            add(Decode::Poly5, Planes::Contiguous, compute);
        }
    }
    if (!integerAct || !w.isAffine || o.k > kLongestInt8Sum) return;
    if (w.share == ScaleShare::None || w.share == ScaleShare::Tensor || w.scalePerOutput()) {
        add(Decode::Affine, Planes::Joined, Compute::Int8);
        if (packed) {
            add(Decode::Affine, Planes::Interleaved, Compute::Int8);
            add(Decode::Affine, Planes::Contiguous, Compute::Int8);
        }
    } else if (w.blocksAlongK()) {
        add(Decode::Affine, Planes::Joined, Compute::Int8Blocks);
    }
}

void addDequantize(const Operands& o, std::vector<Variant>& list) {
    const auto& w = o.weight;
    const auto add = [&](Decode decode) {
        auto v = make(o, decode, Planes::Joined, Compute::F32);
        v.note = "f32 products of value and scale";
        list.push_back(v);
    };
    if (w.meaning == CodeMeaning::Float) add(Decode::Convert);
    if (w.isAffine) add(Decode::Affine);
    if (!w.isTable()) return;
    add(Decode::Gather);
    if (w.bits <= 4) add(Decode::Select);
    if (!polynomialLevels(w).empty()) add(Decode::Poly5);
}

} // namespace

std::vector<Variant> variantsFor(const Operands& o) {
    std::vector<Variant> list;
    if (o.op == Op::QuantizeAct) {
        Variant v;
        v.id = "quant_act_int8";
        v.title = "int8 activations, a scale a row";
        v.note = "f32 division, half to even";
        v.nmseLimit = 1e-12;
        list.push_back(v);
        return list;
    }
    if (o.op == Op::Dequantize)
        addDequantize(o, list);
    else
        addMatmul(o, list);
    const auto unwanted = [&](const Variant& v) {
        return (!o.compute.empty() && o.compute != v.product) ||
               (!o.accum.empty() && o.accum != (isInteger(v.compute) ? "i32" : "f32"));
    };
    list.erase(std::remove_if(list.begin(), list.end(), unwanted), list.end());
    return list;
}

} // namespace qs::pjrt
