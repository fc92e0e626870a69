// SPDX-License-Identifier: GPL-3.0-or-later
// The experts of gpt-oss in MXFP4: blocks of 32 4-bit floats (16 bytes), with E8M0 scales in another tensor. In files
// of transformers (NAME_blocks) the parameter is the transpose of what is stored; in those of OpenAI (NAME.blocks) it
// is not.
#include "core/model/conventions/checkpoint.h"
#include "core/model/conventions/convention.h"
#include "core/model/conventions/row_coded.h"

#include "core/base/tensor_name.h"
#include "core/base/text.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs {
namespace {

constexpr std::string_view kEnds[] = {"_blocks", ".blocks"};
constexpr const char* kTypes[] = {"gpt-oss-mxfp4"};
constexpr std::string_view kMethods[] = {"mxfp4"};

class TransposedBlocks final : public Layer {
public:
    TransposedBlocks(std::vector<std::int64_t> shape, std::vector<Field> fields)
        : Layer({kTypes[0], "gpt-oss MXFP4, blocks of 32, transposed as transformers has it", DType::BF16,
                 std::move(shape), std::move(fields)}) {}

    // Values are [experts, inputs, outputs]. The stored blocks run along the inputs of one output.
    void values(std::uint64_t begin, std::size_t n, float* out) const override {
        const std::size_t rank = shape().size();
        const auto inputs = std::uint64_t(shape()[rank - 2]), outputs = std::uint64_t(shape()[rank - 1]);
        while (n > 0) {
            // `column`: input index counted over all experts.
            const std::uint64_t column = begin / outputs, r0 = begin % outputs;
            const std::uint64_t expert = column / inputs, c0 = column % inputs;
            std::uint64_t r1 = std::min<std::uint64_t>(outputs, r0 + n), c1 = c0 + 1;
            if (r0 == 0 && n >= outputs) c1 = std::min<std::uint64_t>(inputs, c0 + n / outputs);
            rectangle(expert, r0, r1, c0, c1, inputs, outputs, out);
            const auto part = std::size_t((r1 - r0) * (c1 - c0));
            begin += part, n -= part, out += part;
        }
    }

private:
    void rectangle(std::uint64_t expert, std::uint64_t r0, std::uint64_t r1, std::uint64_t c0, std::uint64_t c1,
                   std::uint64_t inputs, std::uint64_t outputs, float* out) const {
        thread_local std::vector<std::byte> scratch;
        const std::uint64_t g0 = c0 / 32, groups = (c1 - 1) / 32 - g0 + 1;
        for (std::uint64_t r = r0; r < r1; ++r) {
            const std::uint64_t row = expert * outputs + r;
            const auto scales = field(1).octets(row * (inputs / 32) + g0, std::size_t(groups));
            const auto bytes = field(0).read(row * (inputs / 2) + c0 / 2, std::size_t((c1 + 1) / 2 - c0 / 2), scratch);
            for (std::uint64_t c = c0; c < c1; ++c) {
                const unsigned byte = std::uint8_t(bytes[std::size_t(c / 2 - c0 / 2)]);
                out[(c - c0) * (r1 - r0) + (r - r0)] =
                    kE2m1Values[c % 2 ? byte >> 4 : byte & 15] * e8m0(scales[std::size_t(c / 32 - g0)]);
            }
        }
    }
};

Result<std::shared_ptr<const Layer>> readLayer(const Checkpoint& checkpoint, const TensorInfo& blocks,
                                               const std::string& scalesName, bool transposed) {
    const std::size_t rank = blocks.shape.size();
    if (blocks.dtype != DType::U8 || rank < 3 || rank > 4 || blocks.shape[rank - 1] != 16 || blocks.elements == 0)
        return fail(fmt::format("{} is {} {}, not U8 in blocks of 16", quotedName(blocks.name), blocks.typeId(),
                                shapeText(blocks.shape)));
    auto scales = checkpoint.field(scalesName, {DType::U8, DType::F8_E8M0}, std::span(blocks.shape).first(rank - 1));
    if (!scales) return tl::unexpected(scales.error());
    std::vector<Field> fields{checkpoint.field(blocks), std::move(*scales)};
    std::vector<std::int64_t> shape(blocks.shape.begin(), blocks.shape.end() - 2);
    shape.push_back(blocks.shape[rank - 2] * 32);
    if (transposed) {
        std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
        return std::make_shared<const TransposedBlocks>(std::move(shape), std::move(fields));
    }
    RowCoding coding;
    coding.type = kTypes[0];
    coding.description = "gpt-oss MXFP4, blocks of 32";
    coding.dtype = DType::BF16;
    coding.rowBytes = std::uint64_t(shape.back()) / 2;
    coding.shape = std::move(shape);
    coding.fields = std::move(fields);
    coding.bits = 4;
    coding.levels = e2m1Levels();
    coding.group = 32;
    coding.scaleCoding = ScaleCoding::E8m0;
    return rowCodedLayer(std::move(coding));
}

void take(Checkpoint& checkpoint, const TensorInfo& field, std::string_view end) {
    const std::string name = field.name.substr(0, field.name.size() - end.size());
    const bool transposed = end == kEnds[0];
    const std::string scales = name + (transposed ? "_scales" : ".scales");
    if (!checkpoint.find(scales)) return; // blocks of another kind
    const bool isSaid = checkpoint.config().method == kMethods[0];
    checkpoint.take(kMxfp4BlocksConvention, name, isSaid ? Evidence::Said : Evidence::Shaped,
                    readLayer(checkpoint, field, scales, transposed));
}

} // namespace

const Convention kMxfp4BlocksConvention = {
    "gpt-oss-mxfp4", "gpt-oss MXFP4", "quant_method mxfp4, or blocks of 16 bytes beside a scale each",
    kTypes,          kEnds,           take,
    kMethods};

} // namespace qs
