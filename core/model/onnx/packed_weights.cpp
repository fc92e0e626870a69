// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/onnx/packed_weights.h"

#include "core/base/tensor_name.h"
#include "core/base/text.h"
#include "kernels/format.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs::onnx {
namespace {

constexpr std::int64_t kMostSize = std::int64_t(1) << 40; ///< of an axis
constexpr const char* kPackedType = "ONNX-packed";

std::string inputOf(const Node& node, std::size_t i) { return i < node.inputs.size() ? node.inputs[i] : std::string(); }
std::int64_t numberOf(const Node& node, const char* name, std::int64_t otherwise) {
    const auto found = node.numbers.find(name);
    return found == node.numbers.end() ? otherwise : found->second;
}
std::int64_t ceilOf(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
bool isFloatType(DType type) { return type == DType::F32 || type == DType::F16 || type == DType::BF16; }

/// Rows of codes, lowest bits first, each row from a new byte on; `block` columns share a scale, and maybe a zero point.
/// value = (code - zero point) * scale. Without zero points the zero is 2^(bits - 1).
struct PackedRows {
    std::vector<std::int64_t> shape; ///< the last axis is the columns
    std::uint64_t columns = 0, rowBytes = 0, block = 0, groups = 0;
    unsigned bits = 0;
    /// Packed: as the codes, each row from a new byte on; PackedRows: those of all `rows` rows of a matrix, which have one
    /// group each, follow each other; Plain: one element each.
    enum class Zeros { None, Packed, PackedRows, Plain } zeros = Zeros::None;
    std::uint64_t rows = 0;          ///< of a matrix, for PackedRows
    std::vector<std::int32_t> order; ///< the group of each column; empty: column / block
};

class PackedRowsLayer final : public Layer {
public:
    PackedRowsLayer(const char* op, PackedRows rows, std::vector<qs::Field> fields)
        : Layer({kPackedType, describe(op, rows), fields[1].info.dtype, rows.shape, std::move(fields)}),
          rows_(std::move(rows)) {}

    void values(std::uint64_t begin, std::size_t n, float* out) const override {
        while (n > 0) {
            const std::uint64_t row = begin / rows_.columns, column = begin % rows_.columns;
            const auto part = std::size_t(std::min<std::uint64_t>(n, rows_.columns - column));
            rowValues(row, column, part, out);
            begin += part, n -= part, out += part;
        }
    }

private:
    static std::string describe(const char* op, const PackedRows& rows) {
        return fmt::format("{}, {} bits, blocks of {}{}{}", op, rows.bits, rows.block,
                           rows.zeros == PackedRows::Zeros::None ? "" : ", zero points",
                           rows.order.empty() ? "" : ", columns in the order of g_idx");
    }
    unsigned codeAt(std::span<const std::uint8_t> bytes, std::uint64_t i) const {
        const std::uint64_t bit = i * rows_.bits;
        return bytes[std::size_t(bit / 8)] >> (bit % 8) & ((1u << rows_.bits) - 1);
    }
    std::vector<float> zerosOf(std::uint64_t row) const {
        const std::uint64_t groups = rows_.groups;
        if (rows_.zeros == PackedRows::Zeros::None)
            return std::vector<float>(std::size_t(groups), float(1u << (rows_.bits - 1)));
        if (rows_.zeros == PackedRows::Zeros::Plain) return field(2).floats(row * groups, std::size_t(groups));
        if (rows_.zeros == PackedRows::Zeros::PackedRows) {
            const std::uint64_t size = (rows_.rows * rows_.bits + 7) / 8, bit = row % rows_.rows * rows_.bits;
            const auto byte = field(2).octets(row / rows_.rows * size + bit / 8, 1);
            return {float(byte[0] >> (bit % 8) & ((1u << rows_.bits) - 1))};
        }
        const std::uint64_t size = (groups * rows_.bits + 7) / 8;
        const auto bytes = field(2).octets(row * size, std::size_t(size));
        std::vector<float> zeros;
        for (std::uint64_t g = 0; g < groups; ++g) zeros.push_back(float(codeAt(bytes, g)));
        return zeros;
    }
    void rowValues(std::uint64_t row, std::uint64_t column, std::size_t n, float* out) const {
        const std::uint64_t first = column * rows_.bits / 8, skipped = column - first * 8 / rows_.bits;
        const std::uint64_t end = ((column + n) * rows_.bits + 7) / 8;
        const auto bytes = field(0).octets(row * rows_.rowBytes + first, std::size_t(end - first));
        const auto scales = field(1).floats(row * rows_.groups, std::size_t(rows_.groups));
        const auto zeros = zerosOf(row);
        for (std::size_t i = 0; i < n; ++i) {
            const auto group = std::size_t(rows_.order.empty() ? (column + i) / rows_.block
                                                               : std::uint64_t(rows_.order[std::size_t(column) + i]));
            out[i] = (float(codeAt(bytes, skipped + i)) - zeros[group]) * scales[group];
        }
    }
    PackedRows rows_;
};

/// bitsandbytes' 4-bit codes, the high half of a byte first; `block` elements of the flattened tensor share an absmax.
class PackedBnbLayer final : public Layer {
public:
    PackedBnbLayer(std::vector<std::int64_t> shape, std::vector<qs::Field> fields, std::uint64_t block, bool isNf4)
        : Layer({kPackedType, fmt::format("MatMulBnb4, {}, blocks of {}", isNf4 ? "NF4" : "FP4", block),
                 fields[1].info.dtype, std::move(shape), std::move(fields)}),
          block_(block), levels_(isNf4 ? nf4Levels().data() : kBnbFp4Values) {}

    void values(std::uint64_t begin, std::size_t n, float* out) const override {
        if (n == 0) return;
        const auto bytes = field(0).octets(begin / 2, std::size_t((begin + n + 1) / 2 - begin / 2));
        const std::uint64_t first = begin / block_;
        const auto scales = field(1).floats(first, std::size_t((begin + n - 1) / block_ - first + 1));
        for (std::size_t i = 0; i < n; ++i) {
            const std::uint64_t at = begin + i;
            const unsigned byte = bytes[std::size_t(at / 2 - begin / 2)];
            out[i] = levels_[at % 2 ? byte & 15u : byte >> 4] * scales[std::size_t(at / block_ - first)];
        }
    }

private:
    std::uint64_t block_;
    const float* levels_;
};

/// Collects the fields of one weight.
class Reading {
public:
    Reading(const Node& node, const FindConstant& find) : node_(node), find_(find) {}

    /// The constant at an input; fails if it is not there or has another number of elements.
    Result<qs::Field> field(std::size_t input, const char* what, std::uint64_t elements) const {
        auto found = find_(inputOf(node_, input));
        if (!found) return fail(fmt::format("its {} are no constant of the model", what));
        if (found->info.elements != elements)
            return fail(fmt::format("its {} have the shape {}, which is not {} elements", what,
                                    shapeText(found->info.shape), elements));
        return std::move(*found);
    }
    bool has(std::size_t input) const { return !inputOf(node_, input).empty(); }

    /// A weight of packed rows. `rows`: the product of all axes but the last.
    Result<std::shared_ptr<const Layer>> packedRows(PackedRows rows, std::uint64_t count, std::size_t codesAt,
                                                    std::size_t scalesAt, std::size_t zerosAt,
                                                    std::size_t orderAt) const {
        if (rows.bits != 2 && rows.bits != 4 && rows.bits != 8)
            return fail(fmt::format("codes of {} bits are not read, only those of 2, 4 and 8", rows.bits));
        rows.groups = std::uint64_t(ceilOf(std::int64_t(rows.columns), std::int64_t(rows.block)));
        std::uint64_t bytes = 0;
        if (__builtin_mul_overflow(count, rows.rowBytes, &bytes)) return fail("its size overflows");
        auto codes = field(codesAt, "codes", bytes);
        if (!codes) return tl::unexpected(codes.error());
        if (codes->info.dtype != DType::U8)
            return fail(fmt::format("its codes are {}, not UINT8", codes->info.typeId()));
        auto scales = field(scalesAt, "scales", count * rows.groups);
        if (!scales) return tl::unexpected(scales.error());
        if (!isFloatType(scales->info.dtype)) return fail(fmt::format("its scales are {}", scales->info.typeId()));
        std::vector<qs::Field> fields{std::move(*codes), std::move(*scales)};
        if (has(zerosAt) && has(orderAt)) // its schema subtracts the zero points
            return fail("it has zero points beside g_idx, which ONNX Runtime leaves out when it computes");
        if (has(zerosAt)) {
            const auto there = find_(inputOf(node_, zerosAt));
            const bool isPacked = there && there->info.dtype == DType::U8;
            rows.zeros = !isPacked       ? PackedRows::Zeros::Plain
                         : rows.rows > 0 ? PackedRows::Zeros::PackedRows
                                         : PackedRows::Zeros::Packed;
            const std::uint64_t wanted = !isPacked       ? count * rows.groups
                                         : rows.rows > 0 ? count / rows.rows * ((rows.rows * rows.bits + 7) / 8)
                                                         : count * ((rows.groups * rows.bits + 7) / 8);
            auto zeros = field(zerosAt, "zero points", wanted);
            if (!zeros) return tl::unexpected(zeros.error());
            if (!isPacked && !isFloatType(zeros->info.dtype))
                return fail(fmt::format("its zero points are {}", zeros->info.typeId()));
            fields.push_back(std::move(*zeros));
        }
        if (has(orderAt)) {
            auto order = field(orderAt, "g_idx", rows.columns);
            if (!order) return tl::unexpected(order.error());
            if (order->info.dtype != DType::I32) return fail(fmt::format("its g_idx is {}", order->info.typeId()));
            for (const std::uint32_t group : order->words(0, std::size_t(rows.columns))) {
                if (group >= rows.groups)
                    return fail(fmt::format("its g_idx holds {} of {} groups", group, rows.groups));
                rows.order.push_back(std::int32_t(group));
            }
            fields.push_back(std::move(*order));
        }
        return std::make_shared<const PackedRowsLayer>(node_.op.c_str(), std::move(rows), std::move(fields));
    }

private:
    const Node& node_;
    const FindConstant& find_;
};

bool isSize(std::int64_t n) { return n > 0 && n <= kMostSize; }

constexpr std::size_t kNoInput = 999;

std::vector<PackedWeight> matMulNBits(const Node& node, const FindConstant& find) {
    const auto read = [&]() -> Result<std::shared_ptr<const Layer>> {
        const std::int64_t k = numberOf(node, "K", 0), n = numberOf(node, "N", 0),
                           block = numberOf(node, "block_size", 0);
        if (!isSize(k) || !isSize(n) || !isSize(block)) return fail("its K, N or block_size is no size");
        if (const auto how = numberOf(node, "weight_prepacked", 0); how != 0)
            return fail(fmt::format("it is packed for one kind of device (weight_prepacked {})", how));
        PackedRows rows;
        rows.bits = unsigned(std::clamp<std::int64_t>(numberOf(node, "bits", 4), 0, 64));
        rows.shape = {n, k}, rows.columns = std::uint64_t(k), rows.block = std::uint64_t(block);
        rows.rowBytes = std::uint64_t(ceilOf(k, block)) * (std::uint64_t(block) * rows.bits / 8);
        return Reading(node, find).packedRows(std::move(rows), std::uint64_t(n), 1, 2, 3, 4);
    };
    return {{inputOf(node, 1), {inputOf(node, 1), inputOf(node, 2), inputOf(node, 3), inputOf(node, 4)}, read()}};
}

std::vector<PackedWeight> gatherBlockQuantized(const Node& node, const FindConstant& find) {
    const auto read = [&]() -> Result<std::shared_ptr<const Layer>> {
        const auto codes = find(inputOf(node, 0));
        if (!codes) return fail("its codes are no constant of the model");
        const auto rank = std::int64_t(codes->info.shape.size());
        const std::int64_t axis = numberOf(node, "quantize_axis", 1), block = numberOf(node, "block_size", 128);
        if (rank < 1 || (axis < 0 ? axis + rank : axis) != rank - 1)
            return fail(fmt::format("quantize_axis {} is not the last one, which is the one that is read", axis));
        if (!isSize(block)) return fail("its block_size is no size");
        PackedRows rows;
        rows.bits = unsigned(std::clamp<std::int64_t>(numberOf(node, "bits", 4), 1, 64));
        rows.shape.assign(codes->info.shape.begin(), codes->info.shape.end());
        rows.rowBytes = std::uint64_t(rows.shape.back());
        if (__builtin_mul_overflow(rows.shape.back(), std::int64_t(8 / std::min(rows.bits, 8u)), &rows.shape.back()))
            return fail("its size overflows");
        rows.columns = std::uint64_t(rows.shape.back()), rows.block = std::uint64_t(block);
        const std::uint64_t count = rows.rowBytes ? codes->info.elements / rows.rowBytes : 0;
        return Reading(node, find).packedRows(std::move(rows), count, 0, 2, 3, kNoInput);
    };
    return {{inputOf(node, 0), {inputOf(node, 0), inputOf(node, 2), inputOf(node, 3)}, read()}};
}

std::vector<PackedWeight> matMulBnb4(const Node& node, const FindConstant& find) {
    const auto read = [&]() -> Result<std::shared_ptr<const Layer>> {
        const std::int64_t k = numberOf(node, "K", 0), n = numberOf(node, "N", 0),
                           block = numberOf(node, "block_size", 0);
        const std::int64_t type = numberOf(node, "quant_type", 1);
        std::int64_t elements = 0;
        if (!isSize(k) || !isSize(n) || !isSize(block) || __builtin_mul_overflow(k, n, &elements) || elements >> 56)
            return fail("its K, N or block_size is no size");
        if (type != 0 && type != 1) return fail(fmt::format("quant_type {} is neither FP4 nor NF4", type));
        const Reading reading(node, find);
        auto codes = reading.field(1, "codes", std::uint64_t(ceilOf(elements, 2)));
        if (!codes) return tl::unexpected(codes.error());
        auto scales = reading.field(2, "scales", std::uint64_t(ceilOf(elements, block)));
        if (!scales) return tl::unexpected(scales.error());
        if (codes->info.dtype != DType::U8 || !isFloatType(scales->info.dtype))
            return fail(fmt::format("its codes are {} and its scales {}", codes->info.typeId(), scales->info.typeId()));
        return std::make_shared<const PackedBnbLayer>(std::vector<std::int64_t>{n, k},
                                                      std::vector<qs::Field>{std::move(*codes), std::move(*scales)},
                                                      std::uint64_t(block), type == 1);
    };
    return {{inputOf(node, 1), {inputOf(node, 1), inputOf(node, 2)}, read()}};
}

/// The weights of a mixture of experts, [experts, outputs, inputs].
std::vector<PackedWeight> qMoe(const Node& node, const FindConstant& find) {
    struct Inputs {
        std::size_t codes, scales, zeros;
        const char* bits;
    };
    static constexpr Inputs kWeights[] = {{2, 3, 11, "fc1_expert_weight_bits"},
                                          {5, 6, 12, "fc2_expert_weight_bits"},
                                          {8, 9, 13, "fc3_expert_weight_bits"}};
    std::vector<PackedWeight> out;
    for (const Inputs& at : kWeights) {
        if (inputOf(node, at.codes).empty()) continue;
        const auto read = [&]() -> Result<std::shared_ptr<const Layer>> {
            const auto type = node.texts.find("quant_type");
            if (type != node.texts.end() && type->second != "int")
                return fail(fmt::format("quant_type {} is not read, only int", quotedName(type->second)));
            if (numberOf(node, "weights_prepacked", -1) != 0)
                return fail("its codes may be packed for one kind of device (weights_prepacked is not 0)");
            const auto codes = find(inputOf(node, at.codes));
            if (!codes) return fail("its codes are no constant of the model");
            if (codes->info.shape.size() != 3)
                return fail(fmt::format("its codes have the shape {}", shapeText(codes->info.shape)));
            PackedRows rows;
            rows.bits = unsigned(
                std::clamp<std::int64_t>(numberOf(node, at.bits, numberOf(node, "expert_weight_bits", 4)), 1, 64));
            rows.shape.assign(codes->info.shape.begin(), codes->info.shape.end());
            rows.rowBytes = std::uint64_t(rows.shape.back());
            if (__builtin_mul_overflow(rows.shape.back(), std::int64_t(8 / std::min(rows.bits, 8u)),
                                       &rows.shape.back()))
                return fail("its size overflows");
            rows.columns = std::uint64_t(rows.shape.back());
            const std::int64_t block = numberOf(node, "block_size", 0);
            if (block < 0 || block > kMostSize) return fail("its block_size is no size");
            if (block == 0) rows.rows = std::uint64_t(codes->info.shape[1]);
            rows.block = block > 0 ? std::uint64_t(block) : std::max<std::uint64_t>(rows.columns, 1);
            const std::uint64_t count = rows.rowBytes ? codes->info.elements / rows.rowBytes : 0;
            return Reading(node, find).packedRows(std::move(rows), count, at.codes, at.scales, at.zeros, kNoInput);
        };
        out.push_back({inputOf(node, at.codes),
                       {inputOf(node, at.codes), inputOf(node, at.scales), inputOf(node, at.zeros)},
                       read()});
    }
    return out;
}

/// Operators whose weights are not decoded: all their constants are parts.
std::vector<PackedWeight> notDecoded(const Node& node, const FindConstant&) {
    const auto codes = std::ranges::find_if(node.inputs, [](const std::string& name) { return !name.empty(); });
    if (codes == node.inputs.end()) return {};
    return {{*codes, node.inputs, fail("this operator is not decoded")}};
}

struct PackedOperator {
    const char* name;
    std::vector<PackedWeight> (*read)(const Node&, const FindConstant&);
};
constexpr PackedOperator kPackedOperators[] = {{"MatMulNBits", matMulNBits},
                                               {"MatMulBnb4", matMulBnb4},
                                               {"QMoE", qMoe},
                                               {"GatherBlockQuantized", gatherBlockQuantized},
                                               {"MatMulNBitsMlp", notDecoded},
                                               {"MatMulNBitsQkv", notDecoded},
                                               {"MatMulNBitsQLoRA", notDecoded},
                                               {"MatMulFpQ4", notDecoded},
                                               {"MatMulBlockQuantizedFp4Weight", notDecoded},
                                               {"MatMulBlockQuantizedFp8Weight", notDecoded},
                                               {"QAttention", notDecoded},
                                               {"QEmbedLayerNormalization", notDecoded},
                                               {"QOrderedMatMul", notDecoded},
                                               {"QOrderedAttention", notDecoded},
                                               {"QOrderedLongformerAttention", notDecoded},
                                               {"DynamicQuantizeLSTM", notDecoded}};

const PackedOperator* findPackedOperator(std::string_view op) {
    const auto* found = std::ranges::find_if(kPackedOperators, [&](const auto& row) { return op == row.name; });
    return found == std::end(kPackedOperators) ? nullptr : found;
}

} // namespace

bool hasPackedWeights(std::string_view op) { return findPackedOperator(op) != nullptr; }

std::vector<PackedWeight> packedWeights(const Node& node, const FindConstant& find) {
    const PackedOperator* row = findPackedOperator(node.op);
    return row ? row->read(node, find) : std::vector<PackedWeight>();
}

} // namespace qs::onnx
