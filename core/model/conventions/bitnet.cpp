// SPDX-License-Identifier: GPL-3.0-or-later
// BitNet as transformers stores it: -1, 0 and 1 as codes 0, 1 and 2 of two bits. Row r of P packed rows holds rows r, P + r,
// 2 P + r and 3 P + r of the matrix, the first in the lowest bits. The outputs are divided by weight_scale, or multiplied
// by it with linear_class autobitlinear. Source: transformers:`integrations/bitnet.py`.
#include "core/model/conventions/checkpoint.h"
#include "core/model/conventions/convention.h"

#include "core/base/tensor_name.h"
#include "core/base/text.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs {
namespace {

constexpr std::string_view kEnds[] = {".weight_scale"};
constexpr const char* kTypes[] = {"bitnet"};
constexpr std::int64_t kRowsPerByte = 4;

class BitnetLayer final : public Layer {
public:
    BitnetLayer(std::vector<Field> fields, bool divides)
        : Layer({kTypes[0],
                 fmt::format("BitNet, three values, {} one scale", divides ? "divided by" : "times"),
                 DType::F32,
                 {fields[0].info.shape[0] * kRowsPerByte, fields[0].info.shape[1]},
                 fields}),
          packedRows_(std::uint64_t(parts()[0].shape[0])), columns_(std::uint64_t(parts()[0].shape[1])),
          divides_(divides) {}

    void values(std::uint64_t begin, std::size_t n, float* out) const override {
        if (n == 0) return;
        const float scale = field(1).floats(0, 1)[0], unit = divides_ ? 1 / scale : scale;
        while (n > 0) {
            const std::uint64_t row = begin / columns_, column = begin % columns_;
            const auto part = std::size_t(std::min<std::uint64_t>(n, columns_ - column));
            const auto bytes = field(0).octets(row % packedRows_ * columns_ + column, part);
            const unsigned shift = unsigned(row / packedRows_) * 2;
            for (std::size_t i = 0; i < part; ++i) out[i] = float(int(bytes[i] >> shift & 3) - 1) * unit;
            begin += part, n -= part, out += part;
        }
    }

private:
    std::uint64_t packedRows_, columns_;
    bool divides_;
};

Result<std::shared_ptr<const Layer>> readLayer(const Checkpoint& checkpoint, const std::string& name,
                                               const TensorInfo& scale) {
    const TensorInfo* codes = checkpoint.find(name);
    if (!codes) return fail(fmt::format("{} is missing", quotedName(name)));
    if (codes->dtype != DType::U8 || codes->shape.size() != 2 || codes->elements == 0 ||
        codes->shape[0] > std::int64_t(1) << 40)
        return fail(
            fmt::format("{} is {} {}, not a matrix of U8", quotedName(name), codes->typeId(), shapeText(codes->shape)));
    constexpr std::int64_t one = 1;
    auto scales = checkpoint.field(scale.name, {DType::BF16, DType::F16, DType::F32}, std::span(&one, 1));
    if (!scales) return tl::unexpected(scales.error());
    const bool divides = textAt(checkpoint.config().quantization, "linear_class") != "autobitlinear";
    return std::make_shared<const BitnetLayer>(std::vector<Field>{checkpoint.field(*codes), std::move(*scales)},
                                               divides);
}

void take(Checkpoint& checkpoint, const TensorInfo& field, std::string_view end) {
    if (checkpoint.config().method != "bitnet" && !checkpoint.isAsked(kBitnetConvention)) return;
    const std::string name = std::string(field.name.substr(0, field.name.size() - end.size())) + ".weight";
    checkpoint.take(kBitnetConvention, name, Evidence::Said, readLayer(checkpoint, name, field));
}

} // namespace

const Convention kBitnetConvention = {"bitnet", "BitNet of transformers", "quant_method bitnet", kTypes, kEnds, take};

} // namespace qs
