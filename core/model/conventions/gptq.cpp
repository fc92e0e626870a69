// SPDX-License-Identifier: GPL-3.0-or-later
// The formats of GPTQ (auto-gptq, gptqmodel) and AWQ (autoawq, layout "gemm"). Both have qweight, qzeros and scales;
// the shape of qweight tells which one it is.
#include "core/base/lists.h"
#include "core/model/conventions/checkpoint.h"
#include "core/model/conventions/convention.h"
#include "core/model/conventions/input_coded.h"
#include "core/model/conventions/row_coded.h"

#include "core/base/text.h"

#include <fmt/format.h>

namespace qs {
namespace {

constexpr std::string_view kEnds[] = {".qweight"};
constexpr const char* kGptqTypes[] = {"GPTQ-int2", "GPTQ-int3", "GPTQ-int4", "GPTQ-int8"};
constexpr const char* kAwqTypes[] = {"AWQ-int4"};

/// The fields that both formats have.
struct Parts {
    const TensorInfo *codes, *zeros, *scales;
};

bool isMatrix(const TensorInfo* tensor, std::initializer_list<DType> dtypes) {
    return tensor && tensor->shape.size() == 2 && !tensor->packed && tensor->elements > 0 &&
           contains(dtypes, tensor->dtype);
}

bool isAwq(const Parts& parts) { return parts.codes->shape[1] == parts.zeros->shape[1]; }

/// Inputs per group. The group_size in the config is used; without it, the number of inputs divided by the number of
/// groups.
Result<std::uint64_t> groupSize(const Checkpoint& checkpoint, std::int64_t inputs, std::int64_t groups) {
    const auto& config = checkpoint.config().quantization;
    std::int64_t group = inputs % groups == 0 ? inputs / groups : 0;
    if (const auto said = countAt(config, "group_size"); said && *said > 0 && *said <= std::uint64_t(inputs))
        group = std::int64_t(*said);
    else if (const auto whole = config.is_object() ? config.find("group_size") : config.end();
             whole != config.end() && whole->is_number_integer() && *whole == -1)
        group = inputs;
    if (group == 0 || groupsOf(inputs, group) != groups)
        return fail(fmt::format("{} inputs in groups of {} are not {} rows of scales", inputs, group, groups));
    return std::uint64_t(group);
}

Result<std::shared_ptr<const Layer>> readGptq(const Checkpoint& checkpoint, const std::string& module,
                                              const Parts& parts) {
    const auto& config = checkpoint.config();
    const std::int64_t outputs = parts.scales->shape[1], groups = parts.scales->shape[0];
    if (parts.codes->shape[1] != outputs || parts.zeros->shape[0] != groups)
        return fail(fmt::format("qweight {}, qzeros {} and scales {} do not belong together",
                                shapeText(parts.codes->shape), shapeText(parts.zeros->shape),
                                shapeText(parts.scales->shape)));
    const std::int64_t bits = outputs > 0 ? parts.zeros->shape[1] * 32 / outputs : 0;
    if ((bits != 2 && bits != 3 && bits != 4 && bits != 8) || outputs * bits != parts.zeros->shape[1] * 32 ||
        outputs % 32 != 0 || parts.codes->shape[0] % bits != 0)
        return fail(fmt::format("qzeros {} beside {} outputs are not of 2, 3, 4 or 8 bits",
                                shapeText(parts.zeros->shape), outputs));
    if (const auto said = countAt(config.quantization, "bits"); said && *said != std::uint64_t(bits))
        return fail(fmt::format("{} says {} bits, but its shapes say {}", config.file, *said, bits));
    if (config.quantization.is_null())
        return fail("config.json beside it does not say which of the two GPTQ formats it is (quantization_config)");
    if (!config.method.empty() && config.method != "gptq")
        return fail(fmt::format("{} says it is '{}'", config.file, escapeForPeople(config.method, 40)));
    const std::string format = textAt(config.quantization, "checkpoint_format");
    if (!format.empty() && format != "gptq" && format != "gptq_v2")
        return fail(fmt::format("its checkpoint_format '{}' is not gptq or gptq_v2", escapeForPeople(format, 40)));

    const std::int64_t inputs = parts.codes->shape[0] * 32 / bits;
    const auto group = groupSize(checkpoint, inputs, groups);
    if (!group) return tl::unexpected(group.error());
    InputCoding coding;
    coding.fields = {checkpoint.field(*parts.codes), checkpoint.field(*parts.zeros), checkpoint.field(*parts.scales)};
    if (checkpoint.find(module + ".g_idx")) {
        auto order = checkpoint.field(module + ".g_idx", {DType::I32}, std::span(&inputs, 1));
        if (!order) return tl::unexpected(order.error());
        auto read = readOrder(*order, *group, std::uint64_t(groups));
        if (!read) return tl::unexpected(read.error());
        coding.order = std::move(*read);
        coding.fields.push_back(std::move(*order));
    } else if (flagAt(config.quantization, "desc_act", false)) {
        return fail(fmt::format("{}.g_idx is missing, and {} says desc_act", escapeForPeople(module, 80), config.file));
    }
    coding.type = kGptqTypes[bits == 8 ? 3 : bits - 2];
    coding.addsOne = format != "gptq_v2";
    coding.description = fmt::format("GPTQ{}, {} bits, groups of {} inputs{}", coding.addsOne ? "" : " v2", bits,
                                     *group, coding.order.empty() ? "" : " in an order of their own (desc_act)");
    coding.outputs = outputs, coding.inputs = inputs;
    coding.bits = unsigned(bits), coding.group = *group;
    return inputCodedLayer(std::move(coding));
}

Result<std::shared_ptr<const Layer>> readAwq(const Checkpoint& checkpoint, const Parts& parts) {
    const auto& config = checkpoint.config();
    const std::int64_t inputs = parts.codes->shape[0], outputs = parts.codes->shape[1] * 8;
    const std::int64_t groups = parts.scales->shape[0];
    if (parts.scales->shape[1] != outputs || parts.zeros->shape[0] != groups)
        return fail(fmt::format("qweight {}, qzeros {} and scales {} do not belong together",
                                shapeText(parts.codes->shape), shapeText(parts.zeros->shape),
                                shapeText(parts.scales->shape)));
    for (const char* key : {"bits", "w_bit"})
        if (const auto said = countAt(config.quantization, key); said && *said != 4)
            return fail(fmt::format("{} says {} bits, but AWQ's container has 4", config.file, *said));
    const std::string version = textAt(config.quantization, "version");
    if (!version.empty() && version != "gemm" && version != "GEMM")
        return fail(fmt::format("its version '{}' is not gemm", escapeForPeople(version, 40)));
    const auto group = groupSize(checkpoint, inputs, groups);
    if (!group) return tl::unexpected(group.error());
    InputCoding coding;
    coding.type = kAwqTypes[0];
    coding.description = fmt::format("AWQ (gemm), 4 bits with zero points, groups of {} inputs", *group);
    coding.outputs = outputs, coding.inputs = inputs;
    coding.fields = {checkpoint.field(*parts.codes), checkpoint.field(*parts.zeros), checkpoint.field(*parts.scales)};
    coding.group = *group;
    coding.isAwq = true;
    return inputCodedLayer(std::move(coding));
}

Result<Parts> partsOf(const Checkpoint& checkpoint, const std::string& module) {
    const Parts parts{checkpoint.find(module + ".qweight"), checkpoint.find(module + ".qzeros"),
                      checkpoint.find(module + ".scales")};
    for (const auto& [tensor, end] : {std::pair(parts.zeros, ".qzeros"), std::pair(parts.scales, ".scales")})
        if (!tensor) return fail(fmt::format("{}{} is missing", escapeForPeople(module, 80), end));
    if (!isMatrix(parts.codes, {DType::I32}) || !isMatrix(parts.zeros, {DType::I32}) ||
        !isMatrix(parts.scales, {DType::F16, DType::BF16, DType::F32}))
        return fail("qweight and qzeros are not matrices of I32, or scales not one of floats");
    return parts;
}

void take(Checkpoint& checkpoint, const TensorInfo& field, std::string_view end) {
    const std::string module = field.name.substr(0, field.name.size() - end.size());
    const auto parts = partsOf(checkpoint, module);
    const bool awq = parts && isAwq(*parts);
    auto layer = !parts ? tl::unexpected(parts.error())
                 : awq  ? readAwq(checkpoint, *parts)
                        : readGptq(checkpoint, module, *parts);
    checkpoint.take(awq ? kAwqConvention : kGptqConvention, module + ".weight", std::move(layer));
}

} // namespace

const Convention kGptqConvention = {"gptq", "GPTQ", kGptqTypes, kEnds, take};
// Layers are taken by the row above, because both formats have the same field names.
const Convention kAwqConvention = {"awq", "AWQ", kAwqTypes, {}, nullptr};

} // namespace qs
