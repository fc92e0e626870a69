// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/verify/candidates.h"

#include "core/base/lists.h"
#include "core/layouts/stored.h"
#include "core/model/conventions/convention.h"
#include "core/model/gguf/packed_type.h"
#include "core/quant/spec/dialects/rows.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs {
namespace {

const std::string kInHalves = ":compute=input";

bool hasLevels(const FormatTraits& format, const LayerCoding& coding) {
    using Levels = LayerCoding::Levels;
    using Scales = LayerCoding::Scales;
    const OwnScale own = coding.scales == Scales::Exponents ? OwnScale::E8m0
                         : coding.scales == Scales::E4m3    ? OwnScale::E4m3
                                                            : OwnScale::F32;
    switch (coding.levels) {
    case Levels::Integers: return format.kind == FormatKind::Integer && format.bits == int(coding.bits);
    case Levels::Nf4: return format.encoder == Encoder::NearestNf4;
    case Levels::Fp4: return format.kind == FormatKind::Codebook && format.bits == 4 && !format.bytes.empty();
    case Levels::E2m1: return format.kind == FormatKind::Float && format.bits == 4 && format.ownScale == own;
    case Levels::E2m3: return false; // no spec makes them
    case Levels::E4m3:
        return format.kind == FormatKind::Float && format.bits == 8 && format.ownScale == own &&
               format.shape.mantissa == 3 && format.shape.bias == 7;
    case Levels::E5m2:
        return format.kind == FormatKind::Float && format.bits == 8 && format.ownScale == own &&
               format.shape.mantissa == 2 && format.shape.bias == 15;
    }
    return false;
}

/// The keys of a spec with these groups. A row that is one group is a row, and a block of its length to those that have
/// blocks alone.
std::vector<std::string> groupTexts(const LayerCoding& coding, const std::vector<std::int64_t>& shape) {
    const auto columns = shape.empty() ? 1u : std::uint64_t(shape.back());
    const auto rows = shape.size() < 2 ? 1u : std::uint64_t(shape[shape.size() - 2]);
    const std::string block = fmt::format(":block={}", coding.columns);
    if (coding.isFlat) return {block};
    if (coding.rows > 1) {
        if (coding.rows >= rows && coding.columns >= columns) return {":scale=tensor"};
        return {fmt::format(":tile=0x{},1x{}", coding.rows, coding.columns)};
    }
    if (coding.columns < columns) return {block};
    return {":scale=channel", block};
}

/// Types of scales that are stored so.
bool isStoredAs(const ScaleType& type, const LayerCoding& coding) {
    if (coding.hasNestedScales) return type.isNested;
    if (type.isNested) return false;
    switch (coding.scales) {
    case LayerCoding::Scales::Exponents: return type.isPowerOfTwo;
    case LayerCoding::Scales::E4m3: return type.stored == DType::F8_E4M3 || type.ofTensor;
    case LayerCoding::Scales::Floats: break;
    }
    // A program may compute with f32 and store what it rounded to fewer bits, or the other way round.
    return true;
}

/// The specs of a dialect's text with every type of scales that may be stored so.
void addTypes(const std::string& text, const LayerCoding& coding, std::vector<QuantSpec>& specs) {
    for (const ScaleType* type : scaleTypeRows())
        for (const char* symmetry : {"", ":sym=no"}) {
            if (!isStoredAs(*type, coding) || (*symmetry && !coding.hasOffsets)) continue;
            // The dialect may have one type of scales alone, or one that has no name in the spec; or compute in halves.
            for (const std::string& more : {fmt::format(":scaletype={}", type->id), std::string(), kInHalves})
                if (auto spec = parseSpec(text + symmetry + more); spec && isStoredAs(scaleTypeOf(*spec), coding))
                    addOnce(specs, std::move(*spec));
        }
}

/// Specs of the program that stores layers so, before those of others that come to the same values.
void putOwnFirst(const DerivedTensor& layer, std::vector<QuantSpec>& specs) {
    static constexpr std::pair<const Convention*, const Dialect*> kOwn[] = {
        {&kCompressedConvention, &kCompressedTensorsDialect},
        {&kMlxConvention, &kMlxDialect},
    };
    const std::string_view type = layer.typeId();
    for (const auto& [convention, dialect] : kOwn)
        if (std::ranges::any_of(convention->types, [&](auto its) { return type == its; }))
            std::stable_partition(specs.begin(), specs.end(),
                                  [&own = *dialect](const QuantSpec& spec) { return isOf(spec, own); });
}

/// The format whose id is the name of a ggml type.
std::optional<QuantSpec> specOfBlockType(const PackedType& type) {
    std::string id = type.id;
    for (char& c : id)
        if (c >= 'A' && c <= 'Z') c = char(c + 32);
    const FormatTraits* format = findFormat(id);
    if (!format) return {};
    auto spec = parseSpec(format->codec ? id : fmt::format("{}:dialect={}", id, kGgmlDialect.id));
    return spec ? std::optional(std::move(*spec)) : std::nullopt;
}

} // namespace

std::vector<QuantSpec> specsOfCoding(const LayerCoding& coding, const std::vector<std::int64_t>& shape) {
    std::vector<QuantSpec> out;
    for (const FormatTraits& format : formats()) {
        if (format.kind == FormatKind::Superblock || !hasLevels(format, coding)) continue;
        for (const Dialect* dialect : dialectsOf(format))
            if (!dialect->packsBlocks && dialect->crossesRows == coding.isFlat)
                for (const std::string& group : groupTexts(coding, shape))
                    addTypes(fmt::format("{}:dialect={}{}", format.id, dialect->id, group), coding, out);
    }
    return out;
}

std::vector<QuantSpec> candidateSpecs(const Model& exported, const std::string& name, const std::string& certified) {
    std::vector<QuantSpec> out;
    if (!certified.empty())
        if (auto spec = parseSpec(certified); spec) out.push_back(std::move(*spec));
    const std::string key = std::string(kStoredPrefix) + name;
    for (const ModelFile& file : exported.files)
        if (const auto said = file.metadata.find(key); said != file.metadata.end())
            if (auto stored = parseStored(key, said->second); stored) addOnce(out, std::move(stored->spec));
    const TensorInfo* tensor = exported.find(name);
    if (!tensor) return out;
    if (tensor->packed) {
        if (auto spec = specOfBlockType(*tensor->packed)) addOnce(out, std::move(*spec));
    } else if (tensor->derived) {
        if (const auto coding = tensor->derived->coding()) {
            auto specs = specsOfCoding(*coding, tensor->shape);
            putOwnFirst(*tensor->derived, specs);
            for (QuantSpec& spec : specs) addOnce(out, std::move(spec));
        }
    } else {
        for (const FormatTraits& format : formats()) {
            const bool isIt = (format.encoder == Encoder::RoundF16 && tensor->dtype == DType::F16) ||
                              (format.encoder == Encoder::RoundBf16 && tensor->dtype == DType::BF16) ||
                              (format.encoder == Encoder::Identity && tensor->dtype == DType::F32);
            if (!isIt) continue;
            if (auto spec = parseSpec(format.id); spec) addOnce(out, std::move(*spec));
        }
    }
    return out;
}

} // namespace qs
