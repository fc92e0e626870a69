// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/text.h"
#include "core/model/conventions/layer.h"
#include "core/model/file_set.h"
#include "core/model/foreign_file.h"
#include "core/model/mapped_file.h"
#include "core/model/tflite/tflite.h"
#include "core/model/unread.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <set>

namespace qs {
namespace tflite {
namespace {

constexpr std::uint64_t kPiece = 16 * 1024; ///< elements decoded at a time
constexpr std::size_t kMostRead = (std::size_t(1) << 31) - 1;

/// value = scale * (code - zero point), rounded once, as in TensorFlow Lite's reference kernel Dequantize.
class Codes final : public Layer {
public:
    Codes(const Tensor& tensor, std::string description, std::vector<Field> fields)
        : Layer({typeOf(tensor), std::move(description), DType::F32, tensor.info.shape, std::move(fields)}),
          bits_(tensor.bits), isSigned_(tensor.isSigned), perChannel_(parts()[1].elements > 1),
          channels_(parts()[1].elements), hasZeros_(parts().size() > 2),
          zeroPerChannel_(hasZeros_ && parts()[2].elements > 1) {
        inner_ = std::max<std::uint64_t>(1, tensor.quantized->block);
        if (tensor.quantized->block > 0) return;
        for (std::size_t i = tensor.quantized->axis + 1; i < tensor.info.shape.size(); ++i)
            inner_ *= std::uint64_t(tensor.info.shape[i]);
    }

    void values(std::uint64_t begin, std::size_t n, float* out) const override {
        std::vector<std::int64_t> codes;
        for (std::size_t done = 0; done < n;) {
            const auto part = std::size_t(std::min<std::uint64_t>(kPiece, n - done));
            read(begin + done, part, codes);
            decode(begin + done, codes, out + done);
            done += part;
        }
    }

private:
    static const char* typeOf(const Tensor& tensor) {
        if (tensor.bits == 2) return "TFLite INT2";
        if (tensor.bits == 4) return tensor.isSigned ? "TFLite INT4" : "TFLite UINT4";
        switch (tensor.info.dtype) {
        case DType::U8: return "TFLite UINT8";
        case DType::I8: return "TFLite INT8";
        case DType::I16: return "TFLite INT16";
        case DType::U16: return "TFLite UINT16";
        case DType::I32: return "TFLite INT32";
        default: return "TFLite INT64";
        }
    }

    template<class T> void wide(std::span<const std::byte> bytes, std::vector<std::int64_t>& out) const {
        for (std::size_t i = 0; i < out.size(); ++i) {
            T value;
            std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
            out[i] = std::int64_t(value);
        }
    }

    void read(std::uint64_t begin, std::size_t n, std::vector<std::int64_t>& out) const {
        const Field& codes = field(0);
        thread_local std::vector<std::byte> scratch;
        out.resize(n);
        if (bits_) { // several codes per byte, lowest bits first
            const unsigned perByte = 8 / bits_, sign = isSigned_ ? 1u << (bits_ - 1) : 0;
            const std::uint64_t first = begin / perByte;
            const auto bytes = codes.read(first, std::size_t((begin + n + perByte - 1) / perByte - first), scratch);
            for (std::size_t i = 0; i < n; ++i) {
                const std::uint64_t at = begin + i;
                const unsigned code =
                    unsigned(bytes[std::size_t(at / perByte - first)]) >> (at % perByte * bits_) & ((1u << bits_) - 1);
                out[i] = std::int64_t(code ^ sign) - std::int64_t(sign);
            }
            return;
        }
        const std::uint64_t size = std::uint64_t(qs::info(codes.info.dtype).bits) / 8;
        const auto bytes = codes.read(begin * size, std::size_t(n * size), scratch);
        switch (codes.info.dtype) {
        case DType::U8: return wide<std::uint8_t>(bytes, out);
        case DType::I8: return wide<std::int8_t>(bytes, out);
        case DType::I16: return wide<std::int16_t>(bytes, out);
        case DType::U16: return wide<std::uint16_t>(bytes, out);
        case DType::I32: return wide<std::int32_t>(bytes, out);
        default: return wide<std::int64_t>(bytes, out);
        }
    }

    std::int64_t zeroPoint(std::uint64_t channel) const {
        if (!hasZeros_) return 0;
        const std::uint64_t at = zeroPerChannel_ ? channel : 0;
        if (field(2).info.dtype != DType::I64) return std::int64_t(field(2).floats(at, 1)[0]);
        std::vector<std::byte> scratch;
        std::int64_t value = 0;
        std::memcpy(&value, field(2).read(at * 8, 8, scratch).data(), 8);
        return value;
    }

    void decode(std::uint64_t begin, std::span<const std::int64_t> codes, float* out) const {
        for (std::size_t i = 0; i < codes.size();) {
            const std::uint64_t at = begin + i, channel = perChannel_ ? at / inner_ % channels_ : 0;
            const auto stop = perChannel_ ? std::size_t(std::min<std::uint64_t>(codes.size(), i + inner_ - at % inner_))
                                          : codes.size();
            const double scale = double(field(1).floats(channel, 1)[0]), zero = double(zeroPoint(channel));
            for (; i < stop; ++i) out[i] = float(scale * (double(codes[i]) - zero));
        }
    }

    unsigned bits_;
    bool isSigned_, perChannel_;
    std::uint64_t channels_, inner_ = 1;
    bool hasZeros_, zeroPerChannel_;
};

Field numbers(const char* name, DType dtype, const Extent& at, const std::shared_ptr<MappedFile>& file) {
    TensorInfo info;
    info.name = name;
    info.dtype = dtype;
    info.shape = {std::int64_t(at.count)};
    info.elements = at.count;
    info.bytes = at.count * std::uint64_t(qs::info(dtype).bits) / 8;
    info.offset = at.offset;
    return {std::move(info), file};
}

} // namespace

TensorInfo derive(const Tensor& tensor, const std::shared_ptr<MappedFile>& file) {
    const auto& quantized = *tensor.quantized;
    TensorInfo codes = tensor.info;
    if (tensor.bits) codes.shape = {std::int64_t(codes.bytes)}, codes.elements = codes.bytes;
    std::vector<Field> fields{{std::move(codes), file}};
    if (quantized.block > 0) {
        fields.push_back({quantized.blockScales, file});
        if (quantized.blockZeros.elements > 0) fields.push_back({quantized.blockZeros, file});
    } else {
        fields.push_back(numbers("scale", DType::F32, quantized.scales, file));
        if (quantized.zeroPoints.count > 0)
            fields.push_back(numbers("zero_point", DType::I64, quantized.zeroPoints, file));
    }
    auto description = quantized.block > 0           ? fmt::format("TensorFlow Lite, blocks of {}", quantized.block)
                       : quantized.scales.count == 1 ? std::string("TensorFlow Lite, one scale")
                                                     : fmt::format("TensorFlow Lite, {} scales along axis {}",
                                                                   quantized.scales.count, quantized.axis);
    if (fields.size() > 2) description += ", zero points";
    TensorInfo out = tensor.info;
    out.dtype = DType::F32;
    out.bytes = out.elements * 4;
    out.derived = std::make_shared<const Codes>(tensor, std::move(description), std::move(fields));
    return out;
}

} // namespace tflite

Result<std::shared_ptr<Model>> openTflite(const std::string& path) {
    auto mapping = openWhole(path);
    if (!mapping) return tl::unexpected(mapping.error());
    const auto& file = *mapping;
    const auto shown = shownPath(path);
    // A copy, because the file could change between a check and the use.
    std::vector<std::byte> copy(std::min(file->size(), tflite::kMostRead));
    constexpr std::size_t piece = std::size_t(16) << 20;
    for (std::size_t at = 0; at < copy.size(); at += piece) { // frees the pages that were copied
        const auto n = std::min(piece, copy.size() - at);
        file->readInto(at, std::span(copy).subspan(at, n));
        file->dropPages(at, n);
    }
    auto parsed = tflite::parse(copy, file->size(), path);
    if (file->faulted())
        if (auto same = file->unchanged(); !same) return tl::unexpected(same.error());
    if (!parsed) return tl::unexpected(parsed.error());
    auto model = newModel(path, "tflite");
    model->files.push_back({file->path(), file->size(), file, {}});
    if (!parsed->description.empty()) model->files[0].metadata["description"] = std::move(parsed->description);
    model->tensors.reserve(parsed->tensors.size());
    UnreadTensors unread;
    std::string firstUnread;
    for (const auto& tensor : parsed->tensors) {
        if (tensor.unread.empty()) continue;
        if (unread.count() == 0)
            firstUnread = fmt::format("tensor {}: {}", quotedName(tensor.info.name), tensor.unread);
        unread.add(tensor.info.name, tensor.unread);
    }
    if (unread.count() > 0 && unread.count() == parsed->tensors.size())
        return fail(fmt::format("{}: {} (a TensorFlow Lite model).", shown, firstUnread), path, 0);
    unread.say(parsed->warnings);
    std::set<std::string> parts; // tensors that are scales or zero points of blocks
    for (const auto& tensor : parsed->tensors)
        if (tensor.quantized && tensor.quantized->block > 0)
            for (const TensorInfo* part : {&tensor.quantized->blockScales, &tensor.quantized->blockZeros})
                if (part->elements > 0) parts.emplace(part->name);
    for (auto& tensor : parsed->tensors)
        if (!parts.contains(std::string(tensor.info.name)))
            model->tensors.push_back(tensor.quantized ? tflite::derive(tensor, file) : std::move(tensor.info));
    model->undecoded = std::move(parsed->undecoded);
    for (const auto& warning : parsed->warnings) model->warnings.push_back(fmt::format("{}: {}.", shown, warning));
    nameApart(*model);
    return model;
}

} // namespace qs
