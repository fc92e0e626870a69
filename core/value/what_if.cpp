// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/value/what_if.h"

#include "core/base/text.h"
#include "core/value/conv.h"
#include "core/value/elementwise.h"
#include "core/value/gather.h"
#include "core/value/reduce.h"
#include "core/value/shape_operations.h"
#include "core/value/sharding.h"
#include "core/value/split.h"
#include "core/value/what_if_arguments.h"

#include <charconv>
#include <climits>
#include <cmath>
#include <fmt/format.h>

namespace qs::value {
namespace {

using Rows = Result<std::vector<WhatIfRow>>;

/// The tensor, its codes and its decoded values; of the largest result, twice as long as the tensor: the same again for
/// the original and for the decoded values.
constexpr std::uint64_t kBytesPerValue = 56;

std::optional<std::int64_t> number(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

std::optional<float> decimal(std::string_view text) {
    float value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
        return std::nullopt;
    return value;
}

std::optional<std::vector<int>> numbers(std::string_view text) {
    std::vector<int> out;
    for (const auto part : split(text, ',')) {
        const auto value = number(part);
        if (!value || *value < INT_MIN || *value > INT_MAX) return std::nullopt;
        out.push_back(int(*value));
    }
    return out;
}

/// For a tensor that one device holds completely.
void setBytes(WhatIfRow& row, const QuantSpec& spec, DType source) {
    if (const auto size = storedSize(spec, row.shape, source)) row.bytesPerDevice = row.bytesTotal = size->total();
}

WhatIfRow begun(const WhatIfSubject& s, const char* operation, const char* detail) {
    WhatIfRow row;
    row.operation = operation, row.detail = detail;
    row.bytesBefore = s.bytes;
    row.before = deviation(s.w.values, s.decoded.values);
    return row;
}

Rows refused(const WhatIfSubject& s, const char* operation, std::string reason) {
    WhatIfRow row = begun(s, operation, "refused");
    row.shape = s.w.shape;
    row.reason = std::move(reason);
    return std::vector{row};
}

/// Compares the operation on W and on Q(W), the latter quantized again with the same spec.
Rows again(const WhatIfSubject& s, const char* operation, const std::function<Result<Tensor>(const Tensor&)>& apply,
           const Job& job) {
    const Result<Tensor> ofW = apply(s.w), ofQ = apply(s.decoded);
    for (const auto* each : {&ofW, &ofQ})
        if (!*each) {
            if (each->error().cancelled) return tl::unexpected(each->error());
            return refused(s, operation, each->error().sentence());
        }
    WhatIfRow row = begun(s, operation, "quantized again");
    row.shape = ofW->shape;
    const auto result = quantized(*ofQ, s.spec, job), direct = quantized(*ofW, s.spec, job);
    for (const auto* each : {&result, &direct}) {
        if (*each) continue;
        if (each->error().cancelled) return tl::unexpected(each->error());
        return refused(s, operation, each->error().sentence());
    }
    setBytes(row, s.spec, s.w.dtype);
    const Tensor values = materialized(*result);
    row.caused = deviation(ofQ->values, values.values);
    row.after = deviation(ofW->values, values.values);
    row.direct = deviation(ofW->values, materialized(*direct).values);
    if (row.caused->exact()) row.note = "the same scales: nothing is lost";
    return std::vector{row};
}

Rows runTranspose(const WhatIfSubject& s, const std::string& argument, const Job& job) {
    const auto order = numbers(argument);
    if (!order) return refused(s, "transpose", "write the order of the axes, for example 1,0");
    Rows rows = again(
        s, "transpose", [&](const Tensor& t) { return transpose(t, *order); }, job);
    if (!rows || !rows->front().reason.empty()) return rows;
    const auto moved = transposeCodes(s.codes, *order);
    if (!moved) return rows; // the codes of blocks cannot be moved
    WhatIfRow row = begun(s, "transpose", "codes and scales moved");
    row.shape = moved->shape;
    setBytes(row, moved->spec, s.w.dtype);
    const Tensor ofW = *transpose(s.w, *order), values = materialized(*moved);
    row.caused = deviation(transpose(s.decoded, *order)->values, values.values);
    row.after = deviation(ofW.values, values.values);
    row.direct = rows->front().direct;
    row.note = "as eformer's Array8B: the spec becomes " + specText(moved->spec);
    rows->push_back(std::move(row));
    return rows;
}

Rows runReshape(const WhatIfSubject& s, const std::string& argument, const Job& job) {
    Shape shape;
    std::int64_t known = 1, open = -1;
    for (const auto part : split(argument, ',')) {
        const auto size = number(part);
        if (!size || *size < -1 || (*size == -1 && open >= 0) || *size > (std::int64_t(1) << 40))
            return refused(s, "reshape", "write the new dimensions, one of them may be -1: for example 64,-1");
        if (*size == -1)
            open = std::int64_t(shape.size());
        else
            known *= *size;
        if (known > (std::int64_t(1) << 40)) return refused(s, "reshape", "the new shape has too many elements");
        shape.push_back(*size);
    }
    if (open >= 0) shape[std::size_t(open)] = known > 0 ? elementsOf(s.w.shape) / known : 0;
    return again(
        s, "reshape", [&](const Tensor& t) { return reshape(t, shape); }, job);
}

Rows runConcatenate(const WhatIfSubject& s, const std::string& argument, const Job& job) {
    const auto axis = number(argument);
    if (!axis || *axis < -64 || *axis > 64) return refused(s, "concatenate", "write an axis, for example 0");
    const auto twice = [&](const Tensor& t) { return concatenate(std::vector<Operand>{t, t}, int(*axis)); };
    Rows rows = again(s, "concatenate", twice, job);
    if (rows && rows->front().note.empty() && rows->front().reason.empty()) rows->front().note = "with itself";
    return rows;
}

Rows runSlice(const WhatIfSubject& s, const std::string& argument, const Job& job) {
    Shape begin(s.w.rank(), 0), limit = s.w.shape;
    const auto parts = split(argument, ',');
    bool good = parts.size() <= s.w.rank();
    for (std::size_t i = 0; good && i < parts.size(); ++i) {
        const std::size_t colon = parts[i].find(':');
        good = colon != std::string_view::npos;
        if (!good) break;
        const auto from = parts[i].substr(0, colon), to = parts[i].substr(colon + 1);
        if (!from.empty()) begin[i] = number(from).value_or(-1);
        if (!to.empty()) limit[i] = number(to).value_or(-1);
    }
    if (!good) return refused(s, "slice", "write a range for each axis, for example :,32:96");
    return again(
        s, "slice", [&](const Tensor& t) { return slice(t, begin, limit); }, job);
}

/// "exp", "pow 2", "max 0": a function of one value, an integer power, or an operation with a number.
Rows runApply(const WhatIfSubject& s, const std::string& argument, const Job& job) {
    const auto words = split(argument, ' ');
    if (words.size() == 1)
        for (const UnaryOperation& operation : unaryOperations())
            if (words[0] == operation.id)
                return again(
                    s, "apply", [&](const Tensor& t) -> Result<Tensor> { return applied(operation, t); }, job);
    const auto power = words.size() == 2 ? number(words[1]) : std::nullopt;
    if (power && words[0] == "pow" && std::abs(*power) <= 64)
        return again(
            s, "apply", [&](const Tensor& t) -> Result<Tensor> { return integerPow(t, int(*power)); }, job);
    if (const auto other = words.size() == 2 ? decimal(words[1]) : std::nullopt)
        for (const BinaryOperation& operation : binaryOperations())
            if (words[0] == operation.id && !operation.comparison)
                return again(
                    s, "apply",
                    [&](const Tensor& t) {
                        return applied(operation, t, Tensor{{}, {*other}});
                    },
                    job);
    return refused(s, "apply", "write a function of a value, for example max 0, pow 2 or exp");
}

/// "0 / 3,1,4": an axis and indices along it.
Rows runTake(const WhatIfSubject& s, const std::string& argument, const Job& job) {
    const auto parts = split(argument, '/');
    const auto axis = number(parts[0]);
    const auto places = parts.size() == 2 ? numbers(parts[1]) : std::nullopt;
    if (!axis || *axis < -64 || *axis > 64 || !places)
        return refused(s, "take", "write axis / places, for example 0 / 0,2,4");
    const std::vector<std::int64_t> indices(places->begin(), places->end());
    const auto along = std::size_t(*axis < 0 ? *axis + std::int64_t(s.w.rank()) : *axis);
    if (along < s.w.rank() && s.w.shape[along] > 0) // each place is a copy of a part of the tensor
        if (auto fits = fitsMemory(
                whatIfNeed(s.w.values.size() / std::uint64_t(s.w.shape[along]) * std::uint64_t(indices.size())));
            !fits)
            return refused(s, "take", fits.error().sentence());
    return again(
        s, "take", [&](const Tensor& t) { return take(t, indices, int(*axis)); }, job);
}

/// "0.25,0.5,0.25 / 1": a kernel along the last axis and its step. The ends are padded with zeros.
Rows runConvolve(const WhatIfSubject& s, const std::string& argument, const Job& job) {
    constexpr std::size_t mostTaps = 64;
    const auto parts = split(argument, '/');
    const std::int64_t step = parts.size() == 2 ? number(parts[1]).value_or(0) : 0;
    Tensor kernel{{1, 1, 0}, {}};
    bool good = step >= 1 && step <= INT_MAX;
    for (const auto part : split(parts[0], ',')) {
        const auto value = decimal(part);
        good = good && value && kernel.values.size() < mostTaps;
        kernel.values.push_back(value.value_or(0));
    }
    if (!good) return refused(s, "convolve", "write kernel / step, for example 0.25,0.5,0.25 / 1");
    const std::int64_t taps = kernel.shape[2] = std::int64_t(kernel.values.size());
    if (s.w.shape.empty() || s.w.shape.back() == 0)
        return refused(s, "convolve", "there is nothing along the last axis");
    ConvOptions options;
    options.strides = {step}, options.padding = {{(taps - 1) / 2, taps / 2}};
    const auto convolve = [&](const Tensor& t) -> Result<Tensor> {
        const std::int64_t last = t.shape.back();
        const auto rows = reshape(t, {elementsOf(t.shape) / last, 1, last});
        if (!rows) return rows;
        auto out = convGeneralDilated(*rows, kernel, options, job);
        if (!out) return out;
        Shape shape = t.shape;
        shape.back() = out->shape[2];
        return reshape(*out, shape);
    };
    return again(s, "convolve", convolve, job);
}

Rows runShard(const WhatIfSubject& s, const std::string& argument, const Job& job) {
    const auto parts = split(argument, '/');
    const auto mesh = parseMesh(parts[0]);
    const auto partition = parsePartition(parts.size() > 1 ? parts[1] : std::string_view());
    if (parts.size() > 2 || !mesh || !partition)
        return refused(s, "shard",
                       !mesh       ? mesh.error().sentence()
                       : partition ? "write mesh / partition, for example model=4 / -,model"
                                   : partition.error().sentence());
    std::vector<WhatIfRow> rows;
    struct Way {
        const char* detail;
        ShardingOptions options;
    };
    bool cut = false;
    for (const Way& way : {Way{"shared scales", {}}, Way{"blocks straddle", {true, false}},
                           Way{"own scales per shard", {false, true}}}) {
        if (way.options.straddle && !cut) continue;
        const auto plan = shard(s.spec, s.w.shape, s.w.dtype, *mesh, *partition, way.options);
        WhatIfRow row = begun(s, "shard", way.detail);
        row.devices = mesh->devices();
        row.shape = s.w.shape;
        if (!plan) {
            cut = cut || !way.options.ownScales;
            row.reason = plan.error().sentence();
            rows.push_back(std::move(row));
            continue;
        }
        const auto values = quantizedSharded(s.w, *plan, job);
        if (!values) {
            if (values.error().cancelled) return tl::unexpected(values.error());
            row.reason = values.error().sentence();
        } else {
            row.caused = deviation(s.decoded.values, values->values);
            row.after = deviation(s.w.values, values->values);
            row.direct = row.before;
        }
        row.shape = plan->shards.front().extent;
        row.bytesPerDevice = plan->mostBytes();
        row.bytesTotal = plan->totalBytes();
        row.note = plan->note;
        if (plan->copies > 1)
            row.note += fmt::format("{}{} copies of each part", row.note.empty() ? "" : "; ", plan->copies);
        rows.push_back(std::move(row));
    }
    return rows;
}

constexpr WhatIfOperation kOperations[] = {
    {"transpose", "Transpose", "order of the axes", initialOrder, orderChoices, runTranspose},
    {"reshape", "Reshape", "new dimensions, one may be -1", initialShape, shapeChoices, runReshape},
    {"concatenate", "Concatenate", "axis along which it meets itself", [](const Shape&) { return std::string("-1"); },
     axisChoices, runConcatenate},
    {"slice", "Slice", "a range for each axis", initialSlice, sliceChoices, runSlice},
    {"shard", "Shard", "mesh / mesh axes that cut each axis", initialMesh, meshChoices, runShard},
    {"apply", "Apply", "a function of each value", [](const Shape&) { return std::string("max 0"); }, functionChoices,
     runApply},
    {"take", "Take", "axis / places along it", initialPlaces, placeChoices, runTake},
    {"convolve", "Convolve", "kernel along the last axis / step",
     [](const Shape&) { return std::string("0.25,0.5,0.25 / 1"); }, kernelChoices, runConvolve},
};

} // namespace

MemoryNeed whatIfNeed(std::uint64_t values) {
    return {"A comparison of operations", [](std::uint64_t count) { return kBytesPerValue * count; }, values, "values"};
}

std::span<const WhatIfOperation> whatIfOperations() { return kOperations; }

Result<WhatIfSubject> whatIfSubject(Tensor w, const QuantSpec& spec, const Job& job) {
    if (auto fits = fitsMemory(whatIfNeed(w.values.size())); !fits) return tl::unexpected(fits.error());
    auto codes = quantized(w, spec, job);
    if (!codes) return tl::unexpected(codes.error());
    const auto bytes = storedSize(spec, w.shape, w.dtype);
    if (!bytes) return tl::unexpected(bytes.error());
    // errors are those of the format, without rounding to the type of the file
    codes->sourceDtype = w.dtype = DType::F32;
    Tensor decoded = materialized(*codes);
    return WhatIfSubject{std::move(w), spec, std::move(*codes), std::move(decoded), bytes->total()};
}

} // namespace qs::value
