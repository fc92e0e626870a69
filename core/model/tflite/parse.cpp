// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/tflite/tflite.h"

#include "core/base/strict_json.h"
#include "core/base/tensor_name.h"
#include "core/base/text.h"
#include "core/model/list_budget.h"
#include "core/model/unread.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <tflite_schema_generated.h>

namespace qs::tflite {
namespace {

constexpr std::size_t kMostTensors = 32'768, kMostRank = 32;
constexpr std::uint64_t kMostElements = std::uint64_t(std::numeric_limits<std::int64_t>::max()) / 64;

struct ElementType {
    int number;
    const char* id; ///< name in TensorFlow Lite
    DType dtype;
    bool isRead, isQuantized; ///< `isQuantized`: the integers are codes if the tensor has scales
    unsigned bits = 0;        ///< of packed integers
    bool isSigned = true;
};
constexpr ElementType kTypes[] = {
    {0, "FLOAT32", DType::F32, true, false},
    {1, "FLOAT16", DType::F16, true, false},
    {2, "INT32", DType::I32, true, true},
    {3, "UINT8", DType::U8, true, true},
    {4, "INT64", DType::I64, true, true},
    {5, "STRING", DType::U8, false, false},
    {6, "BOOL", DType::Bool, true, false},
    {7, "INT16", DType::I16, true, true},
    {8, "COMPLEX64", DType::C64, true, false},
    {9, "INT8", DType::I8, true, true},
    {10, "FLOAT64", DType::F64, true, false},
    {11, "COMPLEX128", DType::U8, false, false},
    {12, "UINT64", DType::U64, true, false},
    {13, "RESOURCE", DType::U8, false, false},
    {14, "VARIANT", DType::U8, false, false},
    {15, "UINT32", DType::U32, true, false},
    {16, "UINT16", DType::U16, true, true},
    {17, "INT4", DType::U8, true, true, 4},
    {18, "BFLOAT16", DType::BF16, true, false},
    {19, "INT2", DType::U8, true, true, 2},
    {20, "UINT4", DType::U8, true, true, 4, false},
    {21, "FLOAT8_E4M3FN", DType::F8_E4M3, true, false},
    {22, "FLOAT8_E5M2", DType::F8_E5M2, true, false},
};
// Bytes of memory per tensor (as parsed and in the list), and for a quantized tensor also its decoder and its fields.
constexpr std::uint64_t kPerTensor = sizeof(Tensor) + sizeof(TensorInfo) + 64, kPerQuantized = 1400;

class TableWalk {
public:
    TableWalk(std::span<const std::byte> bytes, std::uint64_t fileSize)
        : bytes_(bytes), fileSize_(fileSize), budget_(fileSize, bytes.size()) {}
    File file;
    std::string why;

    bool model() {
        const auto* begin = reinterpret_cast<const std::uint8_t*>(bytes_.data());
        if (bytes_.size() < 8 || !wire::ModelBufferHasIdentifier(begin)) return refuse("it has no TFL3 at byte 4");
        flatbuffers::Verifier verifier(begin, std::min<std::size_t>(bytes_.size(), FLATBUFFERS_MAX_BUFFER_SIZE - 1));
        if (!wire::VerifyModelBuffer(verifier))
            return refuse("it is broken: a table, a list or a text in it does not lie within the file");
        const wire::Model& model = *wire::GetModel(begin);
        buffers_ = model.buffers();
        if (model.description()) file.description = model.description()->str().substr(0, 4096);
        if (!model.subgraphs()) return true;
        for (std::size_t i = 0; i < model.subgraphs()->size(); ++i)
            if (!subGraph(*model.subgraphs()->Get(unsigned(i)), i)) return false;
        for (const auto& [reason, unread] : unread_)
            file.warnings.push_back(
                unread.count == 1 ? fmt::format("{} {}", unread.first, reason)
                                  : fmt::format("{} tensors {}; the first is {}", unread.count, reason, unread.first));
        return true;
    }

private:
    struct Unread {
        std::size_t count = 0;
        std::string first;
    };
    bool refuse(std::string what) {
        why = std::move(what);
        return false;
    }
    void say(const char* reason, const std::string& name) {
        auto& unread = unread_[reason];
        if (unread.count++ == 0) unread.first = quotedName(name);
    }
    std::uint64_t placeOf(const void* at) const {
        return std::uint64_t(static_cast<const std::byte*>(at) - bytes_.data());
    }

    bool subGraph(const wire::SubGraph& graph, std::size_t number) {
        if (!graph.tensors()) return true;
        // Tensors of the first subgraph have no prefix, because most models have no other subgraph.
        std::string prefix;
        if (number > 0) {
            const bool isNamed = graph.name() && graph.name()->size() > 0 && graph.name()->size() <= 60;
            prefix = (isNamed ? graph.name()->str() : fmt::format("subgraph_{}", number)) + "/";
            if (invalidUtf8(prefix) != std::string::npos) prefix = fmt::format("subgraph_{}/", number);
        }
        rows_.assign(graph.tensors()->size(), kNone);
        blocks_.clear();
        for (std::size_t i = 0; i < graph.tensors()->size(); ++i) {
            const std::size_t row = file.tensors.size();
            if (!tensor(*graph.tensors()->Get(unsigned(i)), prefix, i)) return false;
            if (file.tensors.size() > row) rows_[i] = row;
        }
        for (const auto& [row, details] : blocks_) {
            Tensor& codes = file.tensors[row];
            const std::string why = addBlocks(*details, codes);
            if (!why.empty()) leaveBlocks(*details, codes, why);
        }
        return true;
    }

    /// A tensor of the subgraph by its index there; null: it has no row.
    Tensor* rowAt(int index) {
        const bool isRow = index >= 0 && std::size_t(index) < rows_.size() && rows_[std::size_t(index)] != kNone;
        return isRow ? &file.tensors[rows_[std::size_t(index)]] : nullptr;
    }

    /// Sets the tensors with the scales of blocks, which lie along the rows as [first axis, all others]. Returns why they
    /// do not fit, or "". Source: LiteRT:`tflite/kernels/embedding_lookup.cc`.
    std::string addBlocks(const wire::Blockwise& details, Tensor& codes) {
        const std::int64_t block = details.block_size(), rows = codes.info.shape.empty() ? 0 : codes.info.shape.front();
        if (rows <= 0 || block <= 0 || std::int64_t(codes.info.elements) / rows % block != 0)
            return fmt::format("blocks of {} do not fit {}", block, shapeText(codes.info.shape));
        if (const auto* shape = details.block_shape())
            for (unsigned i = 0; i < shape->size(); ++i)
                if (shape->Get(i) != (i + 1 == shape->size() ? block : 1)) return "its blocks have several rows";
        const auto count = codes.info.elements / std::uint64_t(block);
        const Tensor* scales = rowAt(details.scales());
        const auto isPlain = [](const Tensor* tensor) {
            return tensor && tensor->unread.empty() && !tensor->quantized && !tensor->bits;
        };
        if (!isPlain(scales) || scales->info.elements != count ||
            (scales->info.dtype != DType::F16 && scales->info.dtype != DType::F32))
            return fmt::format("it has no tensor of {} scales", count);
        // The index 0 is also what a writer leaves out.
        const Tensor* zeros = rowAt(details.zero_points());
        const bool hasZeros = isPlain(zeros) && (zeros->info.elements == count || zeros->info.elements == 1) &&
                              (zeros->info.dtype == DType::I8 || zeros->info.dtype == DType::U8 ||
                               zeros->info.dtype == DType::I32 || zeros->info.dtype == DType::I64);
        if (!hasZeros && details.zero_points() > 0) return fmt::format("it has no tensor of {} zero points", count);
        codes.quantized->blockScales = scales->info;
        if (hasZeros) codes.quantized->blockZeros = zeros->info;
        return {};
    }

    void leaveBlocks(const wire::Blockwise& details, Tensor& codes, const std::string& why) {
        codes.quantized.reset();
        UndecodedLayer layer;
        layer.name = std::string(codes.info.name), layer.why = why, layer.parts = {layer.name};
        for (const int index : {details.scales(), details.zero_points()})
            if (Tensor* part = rowAt(index); part && part != &codes && part->info.elements > 1) {
                part->info.role = TensorRole::Part;
                layer.parts.emplace_back(part->info.name);
            }
        codes.info.role = TensorRole::Part;
        file.undecoded.push_back(std::move(layer));
        if (!codes.bits) return say("is quantized in blocks: its codes are shown", codes.info.name);
        markUnread(codes.info);
        codes.unread = "it is quantized in blocks: " + why;
    }

    /// Finds the data of a tensor; `bytes` stays empty if it has none. Returns why it cannot be read, or "".
    std::string place(const wire::Tensor& table, Extent& bytes) const {
        if (!buffers_ || table.buffer() >= buffers_->size())
            return fmt::format("it has buffer {} of {}", table.buffer(), buffers_ ? buffers_->size() : 0);
        const wire::Buffer& buffer = *buffers_->Get(table.buffer());
        if (buffer.data() && buffer.data()->size() > 0) {
            if (buffer.offset() > 1) return fmt::format("its buffer {} has bytes in two places", table.buffer());
            bytes = {placeOf(buffer.data()->data()), buffer.data()->size()};
        } else if (buffer.offset() > 1 && buffer.size() > 0) {
            if (buffer.offset() > fileSize_ || buffer.size() > fileSize_ - buffer.offset())
                return fmt::format("its buffer {} has {} bytes from byte {} on, the file has {}", table.buffer(),
                                   buffer.size(), buffer.offset(), fileSize_);
            bytes = {buffer.offset(), buffer.size()};
        }
        return {};
    }

    bool tensor(const wire::Tensor& table, const std::string& prefix, std::size_t index) {
        std::string name = table.name() ? table.name()->str() : std::string();
        if (invalidUtf8(name) != std::string::npos || name.find('\0') != std::string::npos)
            return refuse(fmt::format("the name {} is not text", quotedName(name)));
        if (name.empty()) name = fmt::format("unnamed_{}", index);
        name.insert(0, prefix);
        const auto refused = [&](const std::string& what) {
            return refuse(fmt::format("tensor {}: {}", quotedName(name), what));
        };
        Extent bytes;
        std::string unread = place(table, bytes);
        if (unread.empty() && bytes.count == 0) return true; // no data: computed when the model runs
        const auto type = std::ranges::find_if(kTypes, [&](const ElementType& t) { return t.number == table.type(); });
        const auto left = [&](const char* reason) {
            say(reason, name);
            return true;
        };
        const bool isKnown = type != std::end(kTypes);
        if (!isKnown && unread.empty())
            unread = fmt::format("it is of type {} of a later version of TensorFlow Lite", int(table.type()));
        if (isKnown && !type->isRead) return left("holds no numbers that are read");
        if (table.sparsity()) return left("is sparse, which is not read");
        // FlatBuffers tables can be shared, so a small file could contain many tensors with the same long name.
        nameBytes_ += name.size();
        if (file.tensors.size() == kMostTensors)
            return refuse(fmt::format("it has more than {} tensors", kMostTensors));
        if (nameBytes_ > bytes_.size() + kMostTensors * 80) return refuse("its names are longer than the file");

        Tensor& out = file.tensors.emplace_back();
        TensorInfo& info = out.info;
        info.elements = 1;
        std::uint64_t most = 1;
        if (table.shape()) {
            if (table.shape()->size() > kMostRank)
                return refused(fmt::format("it has more than {} dimensions", kMostRank));
            info.shape = std::vector<std::int64_t>(table.shape()->begin(), table.shape()->end());
        }
        if (const auto below = std::ranges::find_if(info.shape, [](auto dim) { return dim < 0; });
            below != info.shape.end()) {
            if (unread.empty()) unread = fmt::format("it has a dimension of {}", *below);
            info.shape = std::vector<std::int64_t>();
        }
        for (const auto dim : info.shape) {
            if (__builtin_mul_overflow(most, std::uint64_t(std::max<std::int64_t>(dim, 1)), &most) ||
                most > kMostElements)
                return refused("its number of elements overflows");
            info.elements *= std::uint64_t(dim);
        }
        info.name = std::move(name);
        if (isKnown && unread.empty()) {
            out.bits = type->bits, out.isSigned = type->isSigned;
            info.dtype = type->dtype;
            info.bytes = (info.elements * (out.bits ? out.bits : std::uint64_t(qs::info(info.dtype).bits)) + 7) / 8;
            if (info.bytes != bytes.count)
                unread = fmt::format("{} of {} needs {} bytes, its buffer has {}", type->id, shapeText(info.shape),
                                     info.bytes, bytes.count);
            info.offset = bytes.offset;
        }
        if (!unread.empty()) {
            markUnread(info);
            out.unread = std::move(unread);
        } else if (type->isQuantized)
            quantization(table.quantization(), out);
        if (!budget_.take(kPerTensor + 2 * ListBudget::of(info.name) + (out.quantized ? kPerQuantized : 0)))
            return refuse(budget_.why("its list of tensors"));
        if (out.bits && !out.quantized && out.unread.empty()) {
            say(out.bits == 4 ? "holds 4-bit integers without scales, which are not read"
                              : "holds 2-bit integers without scales, which are not read",
                info.name);
            file.tensors.pop_back();
        }
        return true;
    }

    /// Sets `quantized` if the scales fit the tensor. Otherwise the tensor stays as stored, with a warning.
    void quantization(const wire::Quantization* table, Tensor& out) {
        if (!table) return;
        const auto* scales = table->scale();
        const auto* zeros = table->zero_point();
        const std::string& name = out.info.name;
        if (table->details_type() == wire::Details_Custom)
            return say("is quantized in a way of its own: its codes are shown", name);
        if (const auto* blocks = table->details_as_Blockwise()) {
            out.quantized.emplace().block = std::uint64_t(std::max(0, blocks->block_size()));
            return blocks_.emplace_back(file.tensors.size() - 1, blocks), void();
        }
        if (table->details_type() != wire::Details_NONE)
            return say("is quantized in blocks: its codes are shown", name);
        if (!scales || scales->size() == 0) return;
        Quantized quantized;
        quantized.scales = {placeOf(scales->data()), scales->size()};
        if (zeros && zeros->size() > 0) quantized.zeroPoints = {placeOf(zeros->data()), zeros->size()};
        if (scales->size() > 1) {
            const std::int64_t axis = table->quantized_dimension();
            if (axis < 0 || std::size_t(axis) >= out.info.shape.size() ||
                out.info.shape[std::size_t(axis)] != std::int64_t(scales->size()))
                return say("has scales that do not fit its shape: its codes are shown", name);
            quantized.axis = std::size_t(axis);
        }
        const auto count = quantized.zeroPoints.count;
        if (count > 1 && count != scales->size())
            return say("has zero points that do not fit its scales: its codes are shown", name);
        out.quantized = quantized;
    }

    std::span<const std::byte> bytes_;
    std::uint64_t fileSize_, nameBytes_ = 0;
    ListBudget budget_;
    const flatbuffers::Vector<flatbuffers::Offset<wire::Buffer>>* buffers_ = nullptr;
    std::map<std::string, Unread> unread_;
    static constexpr std::size_t kNone = ~std::size_t(0);
    std::vector<std::size_t> rows_; ///< of file.tensors, for each tensor of the subgraph
    std::vector<std::pair<std::size_t, const wire::Blockwise*>> blocks_; ///< rows whose scales are tensors
};

} // namespace

Result<File> parse(std::span<const std::byte> bytes, std::uint64_t fileSize, const std::string& path) {
    TableWalk walk(bytes, fileSize);
    if (!walk.model())
        return fail(fmt::format("{}: {} (a TensorFlow Lite model).", shownPath(path), walk.why), path, 0);
    return std::move(walk.file);
}

} // namespace qs::tflite
