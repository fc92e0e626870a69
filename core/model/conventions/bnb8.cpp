// SPDX-License-Identifier: GPL-3.0-or-later
// LLM.int8 of bitsandbytes: signed bytes, and for each row its largest absolute value (SCB).
#include "core/model/conventions/checkpoint.h"
#include "core/model/conventions/convention.h"

#include "core/base/lanes.h"
#include "core/base/tensor_name.h"
#include "core/base/text.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs {
namespace {

constexpr std::string_view kEnds[] = {".SCB"};

class Bnb8Layer final : public Layer {
public:
    Bnb8Layer(std::vector<std::int64_t> shape, std::vector<Field> fields)
        : Layer({"LLM.int8", "LLM.int8 of bitsandbytes, a scale per row", DType::F32, std::move(shape),
                 std::move(fields)}) {}

    std::optional<LayerCoding> coding() const override {
        LayerCoding out;
        out.bits = 8, out.columns = std::uint64_t(shape().back());
        return out;
    }

    /// The order of its bytes: 0 for rows.
    unsigned order() const { return parts().size() > 2 ? field(2).octets(0, 1)[0] : 0; }

    // As int8_vectorwise_dequant of bitsandbytes: code * row maximum * (1/127), in f32.
    void values(std::uint64_t begin, std::size_t n, float* out) const override {
        const auto columns = std::uint64_t(shape()[1]), firstRow = begin / columns;
        const auto maxima = field(1).floats(firstRow, std::size_t((begin + n - 1) / columns - firstRow + 1));
        thread_local std::vector<std::byte> scratch;
        const auto* codes = reinterpret_cast<const std::int8_t*>(field(0).read(begin, n, scratch).data());
        for (std::size_t i = 0; i < n;) {
            const std::uint64_t row = (begin + i) / columns;
            const auto stop = std::size_t(std::min<std::uint64_t>(n, (row + 1) * columns - begin));
            const float maximum = maxima[std::size_t(row - firstRow)];
            for (SignedByteLanes bytes; i + kLanes <= stop; i += kLanes) {
                load(bytes, codes + i);
                const auto whole = __builtin_convertvector(__builtin_convertvector(bytes, IntLanes), FloatLanes);
                store(whole * maximum * 7.874015718698502e-3f, out + i);
            }
            for (; i < stop; ++i) out[i] = float(codes[i]) * maximum * 7.874015718698502e-3f;
        }
    }
};

Result<std::shared_ptr<const Bnb8Layer>> readLayer(const Checkpoint& checkpoint, const std::string& module) {
    const TensorInfo* codes = checkpoint.find(module + ".weight");
    if (!codes) return fail(fmt::format("{} is missing", quotedName(module + ".weight")));
    if (codes->dtype != DType::I8 || codes->shape.size() != 2)
        return fail(fmt::format("{} is {} {}, not a matrix of I8", quotedName(codes->name), codes->typeId(),
                                shapeText(codes->shape)));
    auto maxima = checkpoint.field(module + ".SCB", {DType::F32}, std::span(codes->shape).first(1));
    if (!maxima) return tl::unexpected(maxima.error());
    std::vector<Field> fields{checkpoint.field(*codes), std::move(*maxima)};
    if (const TensorInfo* format = checkpoint.find(module + ".weight_format")) {
        auto number = checkpoint.field(format->name, {DType::U8}, {});
        if (!number) return tl::unexpected(number.error());
        fields.push_back(std::move(*number));
    }
    return std::make_shared<const Bnb8Layer>(codes->shape, std::move(fields));
}

void take(Checkpoint& checkpoint, const TensorInfo& field, std::string_view end) {
    const std::string module = field.name.substr(0, field.name.size() - end.size());
    const auto layer = readLayer(checkpoint, module);
    if (const unsigned order = layer ? (*layer)->order() : 0; order != 0)
        checkpoint.take(kBnb8Convention, module + ".weight", Evidence::Alike,
                        fail(fmt::format("its weight_format is {}, an order of tiles that bitsandbytes has given up; "
                                         "only 0 (rows) is read",
                                         order)));
    else
        checkpoint.take(kBnb8Convention, module + ".weight", Evidence::Said, layer);
}

constexpr const char* kTypes[] = {"LLM.int8"};
constexpr std::string_view kMethods[] = {"bitsandbytes"};

} // namespace

const Convention kBnb8Convention = {
    "bitsandbytes-int8", "LLM.int8", "its tensor SCB beside bytes", kTypes, kEnds, take, kMethods};

} // namespace qs
