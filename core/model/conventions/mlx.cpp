// SPDX-License-Identifier: GPL-3.0-or-later
// MLX: rows of U32 words with the lowest bits first. Groups have scales and biases, or E8M0 or E4M3 scales (MX and
// NVFP4).
#include "core/base/lists.h"
#include "core/model/conventions/checkpoint.h"
#include "core/model/conventions/convention.h"
#include "core/model/conventions/row_coded.h"

#include "core/base/tensor_name.h"
#include "core/base/text.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs {
namespace {

constexpr std::string_view kEnds[] = {".scales"};
/// Scales of NVFP4 that a global scale goes with are stored so that the largest product is this.
constexpr float kLargestNvfp4 = 448.0f * 6.0f;
constexpr const char* kTypes[] = {"MLX-int2", "MLX-int3",  "MLX-int4",  "MLX-int5", "MLX-int6",
                                  "MLX-int8", "MLX-mxfp4", "MLX-mxfp8", "MLX-nvfp4"};

/// Bits and group sizes of the mode affine.
constexpr std::uint64_t kWidths[] = {2, 3, 4, 5, 6, 8}, kGroups[] = {32, 64, 128};

/// Quantization mode of a module.
struct Mode {
    std::string name = "affine";
    std::uint64_t bits = 0, group = 0;
};

/// The mode in config.json: the entry of the module, else the one for all modules. What an entry does not say has the
/// default of mlx.nn.quantize, also where the other entry says it: an entry without a mode is affine.
Result<Mode> modeOf(const CheckpointConfig& config, const std::string& module) {
    if (!config.quantization.is_object())
        return fail("config.json beside it does not say its bits and group_size (quantization)");
    const auto own = config.quantization.find(module);
    const bool hasOwn = own != config.quantization.end() && own->is_object();
    const nlohmann::json& said = hasOwn ? *own : config.quantization;
    Mode mode;
    if (const auto name = textAt(said, "mode"); !name.empty()) mode.name = name;
    const auto bits = countAt(said, "bits"), group = countAt(said, "group_size");
    const auto standard = [&](std::uint64_t usualBits, std::uint64_t usualGroup) {
        mode.bits = bits.value_or(usualBits), mode.group = group.value_or(usualGroup);
        return mode.bits == usualBits && mode.group == usualGroup;
    };
    if (mode.name == "affine") (void)standard(4, 64);
    const bool known = mode.name == "affine"  ? contains(kWidths, mode.bits) && contains(kGroups, mode.group)
                       : mode.name == "mxfp4" ? standard(4, 32)
                       : mode.name == "mxfp8" ? standard(8, 32)
                       : mode.name == "nvfp4" ? standard(4, 16)
                                              : false;
    if (!known)
        return fail(fmt::format("{} says mode '{}', {} bits, groups of {}, which MLX does not have", config.file,
                                escapeForPeople(mode.name, 40), mode.bits, mode.group));
    return mode;
}

/// Layers whose inputs are those of the network's blocks.
bool readsHiddenStates(std::string_view module) {
    static constexpr std::string_view names[] = {".q_proj",       ".k_proj",       ".v_proj",
                                                 ".qkv_proj",     ".gate_proj",    ".up_proj",
                                                 ".gate_up_proj", ".embed_tokens", ".lm_head"};
    return module == "lm_head" ||
           std::ranges::any_of(names, [&](std::string_view end) { return module.ends_with(end); });
}

/// What the settings say of all modules may be wrong for one without an entry: other bits and groups have the same shapes
/// at another width. Then the width of the network tells which are right. A sentence if it contradicts; else "".
std::string otherWidth(const CheckpointConfig& config, const std::string& module, const Mode& mode, std::int64_t words,
                       std::int64_t columns) {
    const auto own = config.quantization.find(module);
    if ((own != config.quantization.end() && own->is_object()) || mode.name != "affine" || !config.width ||
        columns == *config.width || !readsHiddenStates(module))
        return {};
    const std::int64_t groups = columns / std::int64_t(mode.group);
    for (const std::uint64_t bits : kWidths)
        for (const std::uint64_t group : kGroups)
            if (std::int64_t(group) * groups == *config.width && *config.width * std::int64_t(bits) == words * 32)
                return fmt::format(
                    "{} says {} bits in groups of {}, which are rows of {}; with {} bits in groups of {} they "
                    "are rows of {}, which is its hidden_size",
                    config.file, mode.bits, mode.group, columns, bits, group, *config.width);
    return {};
}

Result<std::shared_ptr<const Layer>> readLayer(const Checkpoint& checkpoint, const std::string& module,
                                               const TensorInfo& codes) {
    const auto mode = modeOf(checkpoint.config(), module);
    if (!mode) return tl::unexpected(mode.error());
    if (codes.shape.size() < 2 || codes.elements == 0)
        return fail(fmt::format("{} is {}, no matrix", quotedName(codes.name), shapeText(codes.shape)));
    RowCoding coding;
    const std::int64_t words = codes.shape.back();
    coding.shape = codes.shape;
    if (words > (std::int64_t(1) << 48) || words * 32 % std::int64_t(mode->bits) != 0)
        return fail(fmt::format("rows of {} words are not whole codes of {} bits", words, mode->bits));
    coding.shape.back() = words * 32 / std::int64_t(mode->bits);
    if (coding.shape.back() % std::int64_t(mode->group) != 0)
        return fail(fmt::format("rows of {} are not whole groups of {}", coding.shape.back(), mode->group));
    if (auto other = otherWidth(checkpoint.config(), module, *mode, words, coding.shape.back()); !other.empty())
        return fail(std::move(other));
    auto scaleShape = coding.shape;
    scaleShape.back() /= std::int64_t(mode->group);
    const bool affine = mode->name == "affine";
    auto scales = affine ? checkpoint.field(module + ".scales", {DType::BF16, DType::F16, DType::F32}, scaleShape)
                         : checkpoint.field(module + ".scales", {DType::U8, DType::F8_E8M0}, scaleShape);
    if (!scales) return tl::unexpected(scales.error());
    coding.bits = unsigned(mode->bits);
    coding.group = mode->group;
    coding.rowBytes = std::uint64_t(words) * 4;
    coding.fields = {checkpoint.field(codes), *scales};
    if (affine) {
        auto biases = checkpoint.field(module + ".biases", {scales->info.dtype}, scaleShape);
        if (!biases) return tl::unexpected(biases.error());
        coding.dtype = scales->info.dtype;
        coding.type = kTypes[mode->bits == 8 ? 5 : mode->bits - 2];
        coding.levels = unsignedLevels();
        coding.biases = 2;
        coding.roundsProducts = true;
        coding.fields.push_back(std::move(*biases));
    } else {
        coding.dtype = DType::BF16;
        coding.type = kTypes[mode->name == "mxfp4" ? 6 : mode->name == "mxfp8" ? 7 : 8];
        coding.levels = mode->bits == 8 ? e4m3Levels() : e2m1Levels();
        coding.scaleCoding = mode->name == "nvfp4" ? ScaleCoding::E4m3 : ScaleCoding::E8m0;
        if (const TensorInfo* global = checkpoint.find(module + ".global_scale")) {
            std::uint64_t matrices = 1;
            for (std::size_t axis = 0; axis + 2 < coding.shape.size(); ++axis)
                matrices *= std::uint64_t(coding.shape[axis]);
            if (mode->name != "nvfp4" || global->dtype != DType::F32 || global->elements != matrices)
                return fail(fmt::format("{} is {} {}, not one value of F32 for each matrix of nvfp4",
                                        quotedName(global->name), global->typeId(), shapeText(global->shape)));
            coding.global = int(coding.fields.size());
            coding.dtype = DType::F32; // as mlx decodes it
            coding.globalMultiplies = true, coding.globalDivisor = kLargestNvfp4;
            coding.fields.push_back(checkpoint.field(*global));
        }
    }
    coding.description = fmt::format("MLX {}, {} bits, groups of {}", mode->name, mode->bits, mode->group);
    return rowCodedLayer(std::move(coding));
}

void take(Checkpoint& checkpoint, const TensorInfo& field, std::string_view end) {
    const std::string module = field.name.substr(0, field.name.size() - end.size());
    const TensorInfo* codes = checkpoint.find(module + ".weight");
    if (!codes || codes->dtype != DType::U32 || codes->packed) return; // scales of another kind
    const CheckpointConfig& config = checkpoint.config();
    auto layer = readLayer(checkpoint, module, *codes);
    // Settings of MLX have no method. Others (transformers' metal) have words of U32 beside scales too.
    if (!layer && !config.method.empty())
        layer = fail(fmt::format("{} says it is '{}'", config.file, escapeForPeople(config.method, 40)));
    // mlx_lm takes the settings of a module without an entry from its shapes, so it does not contradict those for all.
    const bool isSaid = layer || (config.method.empty() && valueAt(config.quantization, module.c_str()).is_object() &&
                                  modeOf(config, module));
    checkpoint.take(kMlxConvention, module + ".weight", isSaid ? Evidence::Said : Evidence::Alike, std::move(layer));
}

} // namespace

const Convention kMlxConvention = {
    "mlx", "MLX", "bits and group_size in quantization of config.json, and words of U32", kTypes, kEnds, take};

} // namespace qs
