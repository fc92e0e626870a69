// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/layouts/fields.h"

#include "core/quant/encode/block_encoder.h"
#include "core/quant/encode/double_quant.h"
#include "core/quant/spec/code_set.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace qs {
namespace {

/// A field whose bytes do not come in the order of the file: all of it, in memory.
Result<void> writeCollected(MeasuredTensor& tensor, const OutputField& field, const TensorToWrite::Sink& sink) {
    std::vector<std::byte> all;
    const PutBytes put = [&](std::uint64_t offset, std::span<const std::byte> bytes) -> Result<void> {
        if (all.size() < offset + bytes.size()) all.resize(std::size_t(offset) + bytes.size());
        std::copy(bytes.begin(), bytes.end(), all.begin() + std::ptrdiff_t(offset));
        return {};
    };
    const auto done = writeFields(tensor, {&field, 1}, {&put, 1});
    return done && !all.empty() ? sink(all) : done;
}

/// The largest f32 that becomes a finite number of a float type.
float largestIn(DType dtype) {
    return dtype == DType::F16 || dtype == DType::BF16 ? largestOf(dtype) : std::numeric_limits<float>::max();
}

std::vector<std::uint8_t> scaleBytes(MeasuredTensor& tensor, DType dtype, std::uint64_t index,
                                     std::span<const GroupParams> params) {
    std::vector<std::uint8_t> bytes(params.size());
    const auto pass = tensor.pass(); // it is there
    const NestedGrid* nested = (*pass)->nested();
    if (!nested) {
        const float unit = (*pass)->tensorScale();
        std::transform(params.begin(), params.end(), bytes.begin(),
                       [&](const GroupParams& p) { return scaleByte(dtype, p.scale * unit); });
        return bytes;
    }
    const std::uint64_t last = std::uint64_t(tensor.grid().scales) - 1;
    const bool isShort = tensor.info().elements % tensor.spec().blockSize() != 0;
    std::vector<float> measured(params.size());
    std::transform(params.begin(), params.end(), measured.begin(), [](const auto& p) { return p.aux; });
    if (isShort && index + params.size() > last) measured.back() = std::max(measured.back(), kLeastAbsMax);
    nested->encode(index, measured, bytes.data());
    return bytes;
}

} // namespace

Result<void> writeFields(MeasuredTensor& tensor, std::span<const OutputField> fields,
                         std::span<const PutBytes> places) {
    std::vector<TakeScales> takers;
    for (std::size_t i = 0; i < fields.size(); ++i)
        if (places[i] && fields[i].fromScales) takers.push_back(fields[i].fromScales(tensor, places[i]));
    SlabScales scales(takers);
    for (std::size_t i = 0; i < fields.size(); ++i)
        if (places[i] && fields[i].fromValues)
            if (auto done = fields[i].fromValues(tensor, scales, places[i]); !done) return done;
    if (takers.empty() || scales.handedOver()) return {};
    return eachScale(tensor, [&](std::span<const GroupParams> params) -> Result<void> {
        for (const TakeScales& take : takers)
            if (auto taken = take(params); !taken) return taken;
        return {};
    });
}

Result<void> writeField(MeasuredTensor& tensor, const OutputField& field, const TensorToWrite::Sink& sink) {
    if (!field.inOrder) return writeCollected(tensor, field, sink);
    const PutBytes put = [&](std::uint64_t, std::span<const std::byte> bytes) { return sink(bytes); };
    return writeFields(tensor, {&field, 1}, {&put, 1});
}

bool areWrittenTogether(const MeasuredTensor& tensor, const OutputFields& fields) {
    return tensor.info().bytes > kReadBytes &&
           std::ranges::any_of(fields.list, [](const OutputField& field) { return bool(field.fromScales); });
}

std::vector<TensorToWrite> tensorsToWrite(const std::shared_ptr<MeasuredTensor>& tensor, OutputFields fields) {
    const auto kept = std::make_shared<const OutputFields>(std::move(fields));
    std::shared_ptr<ProducedTogether> together;
    if (areWrittenTogether(*tensor, *kept)) {
        together = std::make_shared<ProducedTogether>();
        together->produce = [tensor, kept](auto places) { return writeFields(*tensor, kept->list, places); };
    }
    std::vector<TensorToWrite> out;
    for (const OutputField& field : kept->list)
        out.push_back({field.name, field.dtype, field.shape,
                       [tensor, kept, &field](const auto& sink) { return writeField(*tensor, field, sink); },
                       field.packed, together});
    return out;
}

TensorToWrite::Sink oneAfterAnother(const PutBytes& put) {
    return [put, at = std::uint64_t(0)](std::span<const std::byte> bytes) mutable {
        const std::uint64_t offset = std::exchange(at, at + bytes.size());
        return bytes.empty() ? Result<void>{} : put(offset, bytes);
    };
}

Result<void> putFloats(const MeasuredTensor& tensor, const PutBytes& put, DType dtype, std::span<const float> values) {
    const float most = bestKernels().absMax(values.data(), values.size(), false);
    if (!(most <= largestIn(dtype))) return tl::unexpected(tensor.overflow());
    std::vector<std::byte> bytes(values.size() * std::size_t(info(dtype).bits) / 8);
    if (bytes.empty()) return {};
    appendAs(dtype, values.data(), values.size(), bytes.data());
    return put(0, bytes);
}

OutputField codeField(std::string name, DType dtype, TensorShape shape, SlabCoder coder) {
    return {std::move(name), dtype, std::move(shape),
            [coder = std::move(coder)](MeasuredTensor& tensor, SlabScales& scales, const PutBytes& put) {
                return streamSlabs(tensor, coder, scales, oneAfterAnother(put));
            }};
}

OutputField floatsOfScales(std::string name, DType dtype, TensorShape shape, float (*of)(const GroupParams&)) {
    OutputField field{std::move(name), dtype, std::move(shape)};
    field.fromScales = [dtype, of](MeasuredTensor& from, const PutBytes& put) -> TakeScales {
        return [&from, dtype, of, sink = oneAfterAnother(put)](std::span<const GroupParams> params) {
            std::vector<float> values(params.size());
            std::transform(params.begin(), params.end(), values.begin(), of);
            return putFloats(from, [&](std::uint64_t, std::span<const std::byte> bytes) { return sink(bytes); }, dtype,
                             values);
        };
    };
    return field;
}

OutputField scaleField(const MeasuredTensor& tensor, std::string name) {
    const DType dtype = storedScaleType(tensor.spec(), tensor.info().dtype);
    const auto& shape = tensor.grid().scaleShape;
    if (info(dtype).bits > 8)
        return floatsOfScales(std::move(name), dtype, shape, [](const GroupParams& one) { return one.scale; });
    OutputField field{std::move(name), dtype, shape};
    field.fromScales = [dtype](MeasuredTensor& from, const PutBytes& put) -> TakeScales {
        return [&from, dtype, sink = oneAfterAnother(put),
                index = std::uint64_t(0)](std::span<const GroupParams> params) mutable -> Result<void> {
            if (params.empty()) return {};
            const auto bytes = scaleBytes(from, dtype, std::exchange(index, index + params.size()), params);
            return sink(std::as_bytes(std::span(bytes)));
        };
    };
    return field;
}

OutputField zeroField(const MeasuredTensor& tensor, std::string name) {
    const DType dtype = storedZeroType(tensor.spec());
    const auto& shape = tensor.grid().scaleShape;
    if (dtype != DType::I8)
        return floatsOfScales(std::move(name), dtype, shape, [](const GroupParams& one) { return one.aux; });
    OutputField field{std::move(name), dtype, shape};
    field.fromScales = [](MeasuredTensor&, const PutBytes& put) -> TakeScales {
        return [sink = oneAfterAnother(put)](std::span<const GroupParams> params) {
            std::vector<std::int8_t> zeros(params.size());
            std::transform(params.begin(), params.end(), zeros.begin(),
                           [](const GroupParams& one) { return std::int8_t(one.aux); });
            return sink(std::as_bytes(std::span(zeros)));
        };
    };
    return field;
}

OutputField biasField(const MeasuredTensor& tensor, std::string name) {
    return floatsOfScales(std::move(name), storedScaleType(tensor.spec(), tensor.info().dtype),
                          tensor.grid().scaleShape, [](const GroupParams& one) { return one.bias; });
}

OutputField measuredField(std::string name, std::int64_t count,
                          std::function<std::vector<float>(const TensorPass&)> of) {
    return {std::move(name),
            DType::F32,
            {count},
            [of = std::move(of)](MeasuredTensor& tensor, SlabScales&, const PutBytes& put) -> Result<void> {
                const auto pass = tensor.pass();
                return pass ? putFloats(tensor, put, DType::F32, of(**pass)) : tl::unexpected(pass.error());
            }};
}

OutputField tensorScaleField(std::string name) {
    return measuredField(std::move(name), 1, [](const TensorPass& pass) { return std::vector{pass.tensorScale()}; });
}

OutputField nestedScaleField(const MeasuredTensor& tensor, std::string name) {
    const auto blocks = (tensor.grid().scales + std::int64_t(kNestedBlock) - 1) / std::int64_t(kNestedBlock);
    return measuredField(std::move(name), blocks, [](const TensorPass& pass) {
        return pass.nested() ? pass.nested()->absMax : std::vector<float>();
    });
}

OutputField constantField(std::string name, DType dtype, TensorShape shape, std::vector<std::byte> bytes) {
    return {std::move(name), dtype, std::move(shape),
            [bytes = std::move(bytes)](MeasuredTensor&, SlabScales&, const PutBytes& put) {
                return bytes.empty() ? Result<void>{} : put(0, bytes);
            }};
}

OutputField constantFloats(std::string name, std::vector<float> values) {
    const auto bytes = std::as_bytes(std::span(values));
    return constantField(std::move(name), DType::F32, {std::int64_t(values.size())}, {bytes.begin(), bytes.end()});
}

SlabCoder byteCoder(const QuantSpec& spec) {
    const auto bits = spec.traits().bytes; // of floats; none of integers
    const int offset = codeSetOf(spec).valueOffset;
    return {[](std::uint64_t element) { return element; },
            [=](const PassRange& range, RunEncoder& encode, std::byte* at) {
                RunOut out;
                out.codes = reinterpret_cast<std::uint8_t*>(at);
                encode(range.run, out);
                if (bits.empty()) return moveCodes(out.codes, range.n, offset);
                for (std::size_t i = 0; i < range.n; ++i) at[i] = std::byte(bits[out.codes[i]]);
            }};
}

SlabCoder valueCoder(const MeasuredTensor& tensor, DType dtype) {
    const auto size = std::uint64_t(info(dtype).bits) / 8;
    const Solved* solved = tensor.solved();
    return {[=](std::uint64_t element) { return element * size; },
            [=](const PassRange& range, RunEncoder& encode, std::byte* at) {
                std::vector<float> decoded(range.n);
                RunOut out;
                out.decoded = decoded.data();
                encode(range.run, out);
                if (solved) applyColumnScales(solved->columnScales, range.begin, decoded.data(), range.n);
                appendFinite(dtype, decoded.data(), range.n, at);
            }};
}

SlabCoder blockCoder(const BlockCodec& codec) {
    return {[&codec](std::uint64_t element) { return blockBytes(codec, element); },
            [](const PassRange& range, RunEncoder& encode, std::byte* at) {
                encode.blocks().pack(range.run, reinterpret_cast<std::uint8_t*>(at));
            }};
}

} // namespace qs
