// SPDX-License-Identifier: GPL-3.0-or-later
// The formats of GPTQ (auto-gptq, gptqmodel, auto-round) and AWQ (autoawq, layout "gemm"). All have qweight, qzeros and scales;
// the shape of qweight tells which one it is.
#include "core/base/lists.h"
#include "core/model/conventions/checkpoint.h"
#include "core/model/conventions/convention.h"
#include "core/model/conventions/input_coded.h"
#include "core/model/conventions/module_rules.h"
#include "core/model/conventions/row_coded.h"

#include "core/base/text.h"

#include <fmt/format.h>

namespace qs {
namespace {

constexpr std::string_view kEnds[] = {".qweight"};
constexpr const char* kGptqTypes[] = {"GPTQ-int2", "GPTQ-int3", "GPTQ-int4", "GPTQ-int8"};
constexpr const char* kAwqTypes[] = {"AWQ-int4"};
constexpr std::string_view kGptqMethods[] = {"gptq",       "gptq_v2",   "auto-round",
                                             "auto_round", "autoround", "intel/auto-round"};
constexpr std::string_view kAwqMethods[] = {"awq", "auto-round", "auto_round", "autoround", "intel/auto-round"};

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
Result<std::uint64_t> groupSize(const Checkpoint& checkpoint, const std::string& module, std::int64_t inputs,
                                std::int64_t groups) {
    std::int64_t group = inputs % groups == 0 ? inputs / groups : 0;
    if (const auto said = checkpoint.rules().numberAt(module, "group_size"); said && *said > 0 && *said <= inputs)
        group = *said;
    else if (said && *said == -1)
        group = inputs;
    if (group == 0 || groupsOf(inputs, group) != groups)
        return fail(fmt::format("{} inputs in groups of {} are not {} rows of scales", inputs, group, groups));
    return std::uint64_t(group);
}

/// How words and zero points are stored.
enum class Packing { Gptq, Gptq2, Awq };

/// What the settings say of the packing. AutoRound names it in packing_format; its older versions in `backend`.
/// Source: auto-round:`auto_round/inference/{backend,convert_model}.py`.
Result<Packing> packingSaid(const Checkpoint& checkpoint) {
    const auto& config = checkpoint.config();
    const auto& settings = config.quantization;
    if (config.method == "auto-round" || config.method == "auto_round" || config.method == "intel/auto-round") {
        std::string format = textAt(settings, "packing_format");
        if (format.empty()) format = textAt(settings, "backend");
        const auto names = [&](std::string_view part) { return format.find(part) != std::string::npos; };
        if (format.empty() || format == "auto" || names("auto_gptq") || (names("gptq") && !names("gptqmodel")))
            return Packing::Gptq;
        if (names("awq")) return Packing::Awq;
        if (format == "auto_round" || names("gptqmodel") || names("exllamav2") || names("triton"))
            return Packing::Gptq2; // zero points as they are
        return fail(fmt::format("its packing_format '{}' is not one of GPTQ or AWQ", escapeForPeople(format, 40)));
    }
    if (config.method == "awq") return Packing::Awq;
    if (!config.method.empty() && config.method != "gptq")
        return fail(fmt::format("{} says it is '{}'", config.file, escapeForPeople(config.method, 40)));
    const std::string format = textAt(settings, "checkpoint_format");
    if (!format.empty() && format != "gptq" && format != "gptq_v2")
        return fail(fmt::format("its checkpoint_format '{}' is not gptq or gptq_v2", escapeForPeople(format, 40)));
    return format == "gptq_v2" ? Packing::Gptq2 : Packing::Gptq;
}

/// Symmetric codes have the zero point in their middle. Another one, in all groups of the first outputs, says that the
/// file is of the other version of GPTQ than it says.
void compareZeros(Checkpoint& checkpoint, const std::string& module, const InputCoding& coding) {
    if (coding.bits == 3 || !checkpoint.rules().at(module, "sym").is_boolean() ||
        !checkpoint.rules().at(module, "sym").get<bool>())
        return;
    const unsigned bits = coding.bits, mask = (1u << bits) - 1, middle = 1u << (bits - 1);
    const auto words = coding.fields[1].words(0, 1);
    unsigned least = mask, most = 0;
    for (unsigned i = 0; i < std::min<std::int64_t>(32 / bits, coding.outputs); ++i) {
        const unsigned zero = ((words[0] >> (i * bits)) + (coding.addsOne ? 1 : 0)) & mask;
        least = std::min(least, zero), most = std::max(most, zero);
    }
    if (least != most || (most != middle - 1 && most != middle + 1)) return;
    const bool isOther = most == (coding.addsOne ? middle + 1 : middle - 1);
    checkpoint.contradict(
        {module + ".weight",
         fmt::format("{} says sym: true and {}", checkpoint.config().file, coding.addsOne ? "GPTQ" : "GPTQ v2"),
         fmt::format("its zero points decode to {}, not to {}", most, middle),
         !isOther         ? ""
         : coding.addsOne ? kGptq2Convention.id
                          : kGptqConvention.id});
}

/// The number of 32-bit words that hold `count` codes.
std::int64_t wordsOf(std::int64_t count, std::int64_t bits) { return (count * bits + 31) / 32; }

/// The bits of a code: as the settings say, if the shapes allow it; else the only width that they allow.
Result<std::int64_t> bitsOf(const CheckpointConfig& config, const Parts& parts, std::optional<std::int64_t> said) {
    const std::int64_t outputs = parts.scales->shape[1];
    std::vector<std::int64_t> fit;
    for (const std::int64_t bits : {2, 3, 4, 8})
        if (wordsOf(outputs, bits) == parts.zeros->shape[1] && (bits != 3 || parts.codes->shape[0] % 3 == 0))
            fit.push_back(bits);
    const auto words = fmt::format("qzeros {} beside {} outputs", shapeText(parts.zeros->shape), outputs);
    if (said && contains(fit, *said)) return *said;
    if (fit.empty()) return fail(fmt::format("{} are not of 2, 3, 4 or 8 bits", words));
    if (said) return fail(fmt::format("{} says {} bits, but {} are of {}", config.file, *said, words, fit.front()));
    if (fit.size() > 1)
        return fail(fmt::format("{} fit {} and {} bits, and nothing says which", words, fit[0], fit[1]));
    return fit.front();
}

Result<InputCoding> readGptq(const Checkpoint& checkpoint, const std::string& module, const Parts& parts,
                             Packing packing) {
    const auto& config = checkpoint.config();
    const std::int64_t outputs = parts.scales->shape[1], groups = parts.scales->shape[0];
    if (parts.codes->shape[1] != outputs || parts.zeros->shape[0] != groups)
        return fail(fmt::format("qweight {}, qzeros {} and scales {} do not belong together",
                                shapeText(parts.codes->shape), shapeText(parts.zeros->shape),
                                shapeText(parts.scales->shape)));
    const auto said = checkpoint.rules().numberAt(module, "bits");
    const auto width = bitsOf(config, parts, said);
    if (!width) return tl::unexpected(width.error());
    const std::int64_t bits = *width;
    const TensorInfo* listed = checkpoint.find(module + ".g_idx");
    std::int64_t inputs = parts.codes->shape[0] * 32 / bits;
    // The last word of a column may be filled in part: then only g_idx says how many inputs there are.
    if (listed && listed->shape.size() == 1 && wordsOf(listed->shape[0], bits) == parts.codes->shape[0])
        inputs = listed->shape[0];
    if (bits == 3 && (inputs % 32 != 0 || outputs % 32 != 0))
        return fail(fmt::format("with 3 bits, words hold whole blocks of 32 codes, but it has {} inputs and {} outputs",
                                inputs, outputs));
    const auto group = groupSize(checkpoint, module, inputs, groups);
    if (!group) return tl::unexpected(group.error());
    InputCoding coding;
    coding.fields = {checkpoint.field(*parts.codes), checkpoint.field(*parts.zeros), checkpoint.field(*parts.scales)};
    if (listed) {
        auto order = checkpoint.field(module + ".g_idx", {DType::I32}, std::span(&inputs, 1));
        if (!order) return tl::unexpected(order.error());
        auto read = readOrder(*order, *group, std::uint64_t(groups));
        if (!read) return tl::unexpected(read.error());
        coding.order = std::move(*read);
        coding.fields.push_back(std::move(*order));
    } else if (const auto& said = checkpoint.rules().at(module, "desc_act"); said.is_boolean() && said.get<bool>()) {
        return fail(fmt::format("{}.g_idx is missing, and {} says desc_act", escapeForPeople(module, 80), config.file));
    }
    coding.type = kGptqTypes[bits == 8 ? 3 : bits - 2];
    coding.addsOne = packing == Packing::Gptq;
    coding.description = fmt::format("GPTQ{}, {} bits, groups of {} inputs{}", coding.addsOne ? "" : " v2", bits,
                                     *group, coding.order.empty() ? "" : " in an order of their own (desc_act)");
    coding.outputs = outputs, coding.inputs = inputs;
    // GPTQModel takes the rows of an embedding for its inputs (gptqmodel/nn_modules/qlinear/__init__.py, pack_original).
    coding.isTable = checkpoint.isTable(module, inputs, outputs);
    if (coding.isTable) coding.description += "; a table, its rows are the inputs";
    coding.bits = unsigned(bits), coding.group = *group;
    return coding;
}

bool isGemm(const std::string& version) { return version.empty() || version == "gemm" || version == "GEMM"; }
Error notGemm(const std::string& version) {
    return {fmt::format("its version '{}' is not gemm", escapeForPeople(version, 40)), {}};
}

Result<InputCoding> readAwq(const Checkpoint& checkpoint, const std::string& module, const Parts& parts) {
    const auto& config = checkpoint.config();
    const std::int64_t inputs = parts.codes->shape[0], outputs = parts.codes->shape[1] * 8;
    const std::int64_t groups = parts.scales->shape[0];
    if (parts.scales->shape[1] != outputs || parts.zeros->shape[0] != groups)
        return fail(fmt::format("qweight {}, qzeros {} and scales {} do not belong together",
                                shapeText(parts.codes->shape), shapeText(parts.zeros->shape),
                                shapeText(parts.scales->shape)));
    for (const char* key : {"bits", "w_bit"})
        if (const auto said = checkpoint.rules().numberAt(module, key); said && *said != 4)
            return fail(fmt::format("{} says {} bits, but AWQ's container has 4", config.file, *said));
    const std::string version = textAt(config.quantization, "version");
    if (!isGemm(version)) return tl::unexpected(notGemm(version));
    const auto group = groupSize(checkpoint, module, inputs, groups);
    if (!group) return tl::unexpected(group.error());
    InputCoding coding;
    coding.type = kAwqTypes[0];
    coding.description = fmt::format("AWQ (gemm), 4 bits with zero points, groups of {} inputs", *group);
    coding.outputs = outputs, coding.inputs = inputs;
    coding.fields = {checkpoint.field(*parts.codes), checkpoint.field(*parts.zeros), checkpoint.field(*parts.scales)};
    coding.group = *group;
    coding.isAwq = true;
    return coding;
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

struct Read {
    const Convention* convention;
    Evidence evidence;
    Result<InputCoding> coding;
};

/// Which of the formats it is: as the user says; else as the settings say, if the shapes agree. Without settings only
/// AWQ is known by its shapes: the versions of GPTQ look alike.
Read readLayer(const Checkpoint& checkpoint, const std::string& module) {
    const auto parts = partsOf(checkpoint, module);
    if (!parts) { // without settings of these programs, its names are only alike
        const std::string_view method = checkpoint.config().method;
        const bool isSaid = contains(kGptqMethods, method) || contains(kAwqMethods, method);
        return {&kGptqConvention, isSaid ? Evidence::Said : Evidence::Alike, tl::unexpected(parts.error())};
    }
    const bool awqShape = isAwq(*parts);
    for (const auto& [convention, packing] :
         {std::pair(&kGptqConvention, Packing::Gptq), std::pair(&kGptq2Convention, Packing::Gptq2)})
        if (checkpoint.isAsked(*convention) && !awqShape)
            return {convention, Evidence::Said, readGptq(checkpoint, module, *parts, packing)};
    const auto& convention = awqShape ? kAwqConvention : kGptqConvention;
    const bool isSaid = !checkpoint.config().quantization.is_null();
    if (!isSaid && awqShape) return {&kAwqConvention, Evidence::Shaped, readAwq(checkpoint, module, *parts)};
    if (!isSaid) return {&kGptqConvention, Evidence::Alike, readGptq(checkpoint, module, *parts, Packing::Gptq)};
    const auto packing = packingSaid(checkpoint);
    if (!packing) return {&convention, Evidence::Alike, tl::unexpected(packing.error())};
    // Early AWQ exports have settings without a method, which are taken for GPTQ's.
    if (awqShape && (*packing == Packing::Awq || checkpoint.config().method.empty() || checkpoint.isAsked(convention)))
        return {&kAwqConvention, Evidence::Said, readAwq(checkpoint, module, *parts)};
    if (const std::string version = textAt(checkpoint.config().quantization, "version");
        *packing == Packing::Awq && !isGemm(version)) // its codes are in another order
        return {&kAwqConvention, Evidence::Alike, tl::unexpected(notGemm(version))};
    if (awqShape || *packing == Packing::Awq)
        return {&convention, Evidence::Said,
                fail(fmt::format("{} says it is '{}', but its shapes are those of {}", checkpoint.config().file,
                                 escapeForPeople(checkpoint.config().method, 40), convention.title))};
    return {*packing == Packing::Gptq2 ? &kGptq2Convention : &kGptqConvention, Evidence::Said,
            readGptq(checkpoint, module, *parts, *packing)};
}

void take(Checkpoint& checkpoint, const TensorInfo& field, std::string_view end) {
    const std::string module = field.name.substr(0, field.name.size() - end.size());
    Read read = readLayer(checkpoint, module);
    const std::string name = module + ".weight";
    if (read.coding && read.convention != &kAwqConvention) compareZeros(checkpoint, module, *read.coding);
    if (read.coding && read.evidence == Evidence::Alike) { // the other version is as likely
        auto other = *read.coding;
        other.addsOne = !other.addsOne;
        checkpoint.take(kGptq2Convention, name, Evidence::Alike, inputCodedLayer(std::move(other)));
    }
    checkpoint.take(*read.convention, name, read.evidence, std::move(read.coding).map(inputCodedLayer));
}

} // namespace

const Convention kGptqConvention = {
    "gptq", "GPTQ",      "quant_method gptq or auto-round, and the shapes of qweight and qzeros", kGptqTypes, kEnds,
    take,   kGptqMethods};
// Layers of these are taken by the row above, because all three have the same field names.
const Convention kGptq2Convention = {"gptq-v2",   "GPTQ v2", "checkpoint_format gptq_v2, or AutoRound's packing_format",
                                     kGptqTypes,  {},        nullptr,
                                     kGptqMethods};
const Convention kAwqConvention = {
    "awq",   "AWQ",      "quant_method awq or auto-round, or the shapes of qweight and qzeros", kAwqTypes, {},
    nullptr, kAwqMethods};

} // namespace qs
