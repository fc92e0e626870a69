// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/value/what_if.h"

#include "core/base/text.h"
#include "core/value/reduce.h"
#include "core/value/shape_operations.h"
#include "core/value/sharding.h"
#include "core/value/split.h"

#include <algorithm>
#include <charconv>
#include <climits>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <numeric>

namespace qs::value {
namespace {

using Rows = Result<std::vector<WhatIfRow>>;

std::optional<std::int64_t> number(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
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

/// Figures of the operation's results on W and on Q(W), quantized again with the same spec.
Rows again(const WhatIfSubject& s, const char* operation, const Result<Tensor>& ofW, const Result<Tensor>& ofQ,
           const Job& job) {
    if (!ofW) return refused(s, operation, ofW.error().message);
    WhatIfRow row = begun(s, operation, "quantized again");
    row.shape = ofW->shape;
    const auto result = quantized(*ofQ, s.spec, job), direct = quantized(*ofW, s.spec, job);
    for (const auto* each : {&result, &direct}) {
        if (*each) continue;
        if (each->error().cancelled) return tl::unexpected(each->error());
        return refused(s, operation, each->error().message);
    }
    if (const auto size = storedSize(s.spec, row.shape, s.w.dtype)) row.bytesPerDevice = row.bytesTotal = size->total();
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
    Rows rows = again(s, "transpose", transpose(s.w, *order), transpose(s.decoded, *order), job);
    if (!rows || !rows->front().reason.empty()) return rows;
    const auto moved = transposeCodes(s.codes, *order);
    if (!moved) return rows; // blocks cannot move along
    WhatIfRow row = begun(s, "transpose", "codes and scales moved");
    row.shape = moved->shape;
    if (const auto size = storedSize(moved->spec, row.shape, s.w.dtype))
        row.bytesPerDevice = row.bytesTotal = size->total();
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
    return again(s, "reshape", reshape(s.w, shape), reshape(s.decoded, shape), job);
}

Rows runConcatenate(const WhatIfSubject& s, const std::string& argument, const Job& job) {
    const auto axis = number(argument);
    if (!axis || *axis < -64 || *axis > 64) return refused(s, "concatenate", "write an axis, for example 0");
    const auto twice = [&](const Tensor& t) { return concatenate(std::vector<Operand>{t, t}, int(*axis)); };
    Rows rows = again(s, "concatenate", twice(s.w), twice(s.decoded), job);
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
    return again(s, "slice", slice(s.w, begin, limit), slice(s.decoded, begin, limit), job);
}

Rows runShard(const WhatIfSubject& s, const std::string& argument, const Job& job) {
    const auto parts = split(argument, '/');
    const auto mesh = parseMesh(parts[0]);
    const auto partition = parsePartition(parts.size() > 1 ? parts[1] : std::string_view());
    if (parts.size() > 2 || !mesh || !partition)
        return refused(s, "shard",
                       !mesh       ? mesh.error().message
                       : partition ? "write mesh / partition, for example model=4 / -,model"
                                   : partition.error().message);
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
            row.reason = plan.error().message;
            rows.push_back(std::move(row));
            continue;
        }
        const auto values = quantizedSharded(s.w, *plan, job);
        if (!values) {
            if (values.error().cancelled) return tl::unexpected(values.error());
            row.reason = values.error().message;
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

std::string initialOrder(const Shape& shape) {
    std::vector<std::size_t> order(shape.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    if (order.size() >= 2) std::swap(order[order.size() - 1], order[order.size() - 2]);
    return fmt::format("{}", fmt::join(order, ","));
}
/// Rows of another length, so that blocks hold other neighbours.
std::string initialShape(const Shape& shape) {
    const std::int64_t elements = elementsOf(shape);
    for (const std::int64_t length : {96, 48, 32})
        if (elements % length == 0 && (shape.empty() || shape.back() != length)) return fmt::format("-1,{}", length);
    return "-1";
}
std::string initialSlice(const Shape& shape) {
    std::string text;
    for (std::size_t i = 0; i + 1 < shape.size(); ++i) text += ":,";
    const std::int64_t size = shape.empty() ? 1 : shape.back();
    return text + fmt::format("{}:{}", size / 8, size);
}
std::string initialMesh(const Shape& shape) {
    const bool four = !shape.empty() && shape.front() % 4 == 0;
    std::string dashes;
    for (std::size_t i = 0; i + 2 < shape.size(); ++i) dashes += ",-";
    // The last axis only where halves of it are whole blocks of any usual size.
    const bool halves = shape.size() >= 2 && shape.back() % 512 == 0;
    if (four && halves) return "data=4,model=2 / data,model" + dashes;
    if (shape.size() < 2) return four ? "data=4 / data" : "model=2 / model";
    return four ? "data=4 / data,-" + dashes : "model=2 / -,model";
}

using Choices = std::vector<std::string>;

/// All orders of up to three axes; of more, those that swap two.
Choices orderChoices(const Shape& shape) {
    std::vector<std::size_t> axes(shape.size());
    std::iota(axes.begin(), axes.end(), std::size_t(0));
    Choices out;
    const auto add = [&out](const std::vector<std::size_t>& order) {
        out.push_back(fmt::format("{}", fmt::join(order, ",")));
    };
    if (shape.size() <= 3) {
        do add(axes);
        while (std::next_permutation(axes.begin(), axes.end()));
        return out;
    }
    for (std::size_t i = 0; i < axes.size(); ++i)
        for (std::size_t j = i + 1; j < axes.size(); ++j) {
            auto order = axes;
            std::swap(order[i], order[j]);
            add(order);
        }
    return out;
}
Choices shapeChoices(const Shape& shape) {
    const std::int64_t elements = elementsOf(shape);
    Choices out;
    for (const std::int64_t length : {32, 48, 64, 96, 128, 256, 512, 1024})
        if (elements > 0 && elements % length == 0) out.push_back(fmt::format("-1,{}", length));
    out.push_back("-1");
    return out;
}
Choices axisChoices(const Shape& shape) {
    Choices out;
    for (std::size_t i = 1; i <= std::max<std::size_t>(1, shape.size()); ++i) out.push_back(fmt::format("-{}", i));
    return out;
}
/// The two halves and the last 7/8 of each axis.
Choices sliceChoices(const Shape& shape) {
    Choices out;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
        const std::int64_t size = shape[axis];
        for (const auto& [from, to] :
             {std::pair(size / 8, size), std::pair(std::int64_t(0), size / 2), std::pair(size / 2, size)}) {
            std::string text;
            for (std::size_t i = 0; i < shape.size(); ++i)
                text += (i ? "," : "") + (i == axis ? fmt::format("{}:{}", from, to) : std::string(":"));
            out.push_back(text);
        }
    }
    return out;
}
/// One mesh axis over each axis that it divides.
Choices meshChoices(const Shape& shape) {
    Choices out;
    for (const int devices : {2, 4, 8})
        for (std::size_t axis = 0; axis < shape.size(); ++axis) {
            if (shape[axis] % devices != 0) continue;
            std::string places;
            for (std::size_t i = 0; i < shape.size(); ++i)
                places += std::string(i ? "," : "") + (i == axis ? "model" : "-");
            out.push_back(fmt::format("model={} / {}", devices, places));
        }
    return out;
}

constexpr WhatIfOperation kOperations[] = {
    {"transpose", "Transpose", "order of the axes", initialOrder, orderChoices, runTranspose},
    {"reshape", "Reshape", "new dimensions, one may be -1", initialShape, shapeChoices, runReshape},
    {"concatenate", "Concatenate", "axis along which it meets itself", [](const Shape&) { return std::string("-1"); },
     axisChoices, runConcatenate},
    {"slice", "Slice", "a range for each axis", initialSlice, sliceChoices, runSlice},
    {"shard", "Shard", "mesh / mesh axes that cut each axis", initialMesh, meshChoices, runShard},
};

} // namespace

std::span<const WhatIfOperation> whatIfOperations() { return kOperations; }

Result<WhatIfSubject> whatIfSubject(Tensor w, const QuantSpec& spec, const Job& job) {
    auto codes = quantized(w, spec, job);
    if (!codes) return tl::unexpected(codes.error());
    const auto bytes = storedSize(spec, w.shape, w.dtype);
    if (!bytes) return tl::unexpected(bytes.error());
    codes->sourceDtype = w.dtype = DType::F32; // errors are those of the format, not of rounding to the file's type
    Tensor decoded = materialized(*codes);
    return WhatIfSubject{std::move(w), spec, std::move(*codes), std::move(decoded), bytes->total()};
}

} // namespace qs::value
