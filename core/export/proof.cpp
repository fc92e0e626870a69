// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/export/proof.h"

#include "core/base/text.h"
#include "core/export/value_sums.h"
#include "core/model/derived_tensor.h"
#include "core/model/mapped_file.h"
#include "core/model/packed_type.h"
#include "core/model/tensor_name.h"
#include "core/quant/code_set.h"
#include "core/quant/produce.h"
#include "core/quant/stored.h"

#include <algorithm>
#include <fmt/format.h>
#include <future>
#include <unordered_map>

namespace qs {
namespace {

constexpr std::size_t kPiece = std::size_t(1) << 20;
constexpr std::uint64_t kKeptPages = std::uint64_t(64) << 20;   ///< of the written files, in memory
constexpr std::uint64_t kKeptValues = std::uint64_t(256) << 20; ///< bytes that were decoded of them
using Sink = TensorToWrite::Sink;

/// Layouts of one file of another kind are called as its format; the model lists all that lies in it.
bool isSafetensors(const Model& written) {
    const auto all = layouts();
    return std::none_of(all.begin(), all.end(),
                        [&](const Layout& layout) { return layout.fileEnding && written.format == layout.id; });
}

/// Bytes of every tensor that the files hold, by their headers alone.
Result<std::unordered_map<std::string, std::uint64_t>> sizesInFiles(const Model& written) {
    std::unordered_map<std::string, std::uint64_t> sizes;
    for (const ModelFile& file : written.files) {
        std::vector<std::byte> scratch;
        if (!isSafetensors(written)) continue;
        const auto length = safetensorsHeaderLength(file.mapping->read(0, 8, scratch));
        const auto header = parseSafetensorsHeader(
            file.mapping->read(0, std::size_t(std::min<std::uint64_t>(file.size, 8 + length)), scratch), file.size,
            file.path);
        if (!header) return tl::unexpected(header.error());
        for (const TensorInfo& tensor : header->tensors) sizes[tensor.name] = tensor.bytes;
    }
    if (!isSafetensors(written))
        for (const TensorInfo& tensor : written.tensors) sizes[tensor.name] = tensor.bytes;
    return sizes;
}

/// For readers whose arithmetic is not level * scale.
void asRead(const Layout& layout, const QuantSpec& spec, const PassRange& range, RunEncoder& encode, float* values) {
    const CodeSet set = codeSetOf(spec);
    const std::size_t group = std::max<std::size_t>(1, range.run.group);
    std::vector<std::uint8_t> codes(range.n);
    std::vector<float> scales((range.n + group - 1) / group);
    RunOut out;
    out.codes = codes.data(), out.scales = scales.data();
    encode(range.run, out);
    for (std::size_t i = 0; i < range.n; ++i) values[i] = layout.valueOf(set.levels[codes[i]], scales[i / group]);
}

/// For readers that round on the way.
void asRead(const Source& source, const PassRange& range, RunEncoder& encode, float* values) {
    const std::size_t group = std::max<std::size_t>(1, range.run.group);
    thread_local std::vector<std::uint8_t> codes;
    thread_local std::vector<float> scales, zeros;
    codes.resize(range.n);
    scales.assign((range.n + group - 1) / group, 0);
    zeros.assign(scales.size(), 0);
    RunOut out;
    out.codes = codes.data(), out.scales = scales.data(), out.zeros = zeros.data();
    encode(range.run, out);
    source.readAs(codes, scales, zeros, group, values);
}

/// What the spec makes of the source, as analysis decodes it, rounded to the type that the reader gives.
Result<void> expectedValues(Source& source, DType dtype, const Layout& layout, const Sink& sink) {
    const auto size = std::uint64_t(info(dtype).bits) / 8;
    return streamSlabs(
        source, sink, [=](std::uint64_t element) { return element * size; },
        [&](const PassRange& range, RunEncoder& encode, std::byte* at) {
            thread_local std::vector<float> decoded;
            decoded.resize(range.n);
            if (source.readAs) {
                asRead(source, range, encode, decoded.data());
                return appendAs(dtype, decoded.data(), range.n, at);
            }
            RunOut out;
            out.decoded = decoded.data();
            encode(range.run, out);
            if (layout.valueOf) asRead(layout, source.spec, range, encode, decoded.data());
            if (source.solved) applyColumnScales(source.solved->columnScales, range.begin, decoded.data(), range.n);
            appendAs(dtype, decoded.data(), range.n, at);
        });
}

Result<void> bytesOfView(const TensorView& view, const Job& job, const Sink& sink) {
    std::vector<std::byte> scratch;
    for (std::uint64_t at = 0; at < view.info->bytes; at += kPiece) {
        if (job.cancelled()) return cancelledError();
        const auto piece = view.read(at, std::size_t(std::min<std::uint64_t>(kPiece, view.info->bytes - at)), scratch);
        if (auto taken = sink(piece); !taken) return taken;
    }
    return {};
}

Result<void> floatsOfView(const TensorView& view, const Job& job, const Sink& sink) {
    std::vector<float> values(kPiece / sizeof(float));
    for (std::uint64_t at = 0; at < view.info->elements; at += values.size()) {
        if (job.cancelled()) return cancelledError();
        const auto n = std::size_t(std::min<std::uint64_t>(values.size(), view.info->elements - at));
        loadF32(view, at, n, values.data());
        if (auto taken = sink(std::as_bytes(std::span(values).first(n))); !taken) return taken;
    }
    return {};
}

/// A tensor as the opened files tell it, whatever holds it there.
struct Reading {
    DType dtype = DType::F32;
    std::string type;
    std::vector<std::int64_t> shape;
    std::function<Result<void>(const Sink&)> produce;
};

Result<std::optional<Reading>> readingOf(const Model& written, const std::string& name, const Job& job) {
    if (const TensorInfo* tensor = written.find(name)) {
        if (!info(tensor->dtype).quantizable && !tensor->derived) return std::optional<Reading>();
        auto view = written.view(*tensor);
        if (!view) return tl::unexpected(view.error());
        if (tensor->packed && !tensor->packed->decode) return std::optional<Reading>();
        return Reading{tensor->dtype, tensor->typeId(), tensor->shape, [view = *view, job](const Sink& sink) {
                           return view.info->packed ? floatsOfView(view, job, sink) : bytesOfView(view, job, sink);
                       }};
    }
    const std::string key = std::string(kStoredPrefix) + name;
    for (const ModelFile& file : written.files)
        if (const auto said = file.metadata.find(key); said != file.metadata.end()) {
            auto stored = parseStored(key, said->second);
            if (!stored) return tl::unexpected(stored.error());
            const std::string type = stored->spec.format;
            auto decoded = decodeStored(written, std::move(*stored), std::nullopt);
            if (!decoded) return tl::unexpected(decoded.error());
            return Reading{decoded->dtype, type, decoded->shape, std::move(decoded->produce)};
        }
    return std::optional<Reading>();
}

Result<void> summed(ValueSums& sums, const std::function<Result<void>(const Sink&)>& produce) {
    return produce([&](std::span<const std::byte> bytes) -> Result<void> {
        sums.add(bytes);
        return {};
    });
}

/// Both sides at once: one decodes what is there, the other computes what should be.
Result<void> compare(const std::string& name, DType dtype, const std::function<Result<void>(const Sink&)>& expected,
                     const std::function<Result<void>(const Sink&)>& actual) {
    ValueSums should(dtype), is(dtype);
    auto reading = std::async(std::launch::async, [&] { return summed(is, actual); });
    const auto computed = summed(should, expected);
    const auto read = reading.get();
    if (!computed) return computed;
    if (!read) return read;
    const auto& a = should.finish();
    const auto& b = is.finish();
    if (should.bytes() == is.bytes() && a == b) return {};
    const std::size_t piece = std::size_t(
        std::mismatch(a.begin(), a.begin() + std::ptrdiff_t(std::min(a.size(), b.size())), b.begin()).first -
        a.begin());
    const std::uint64_t size = std::max<std::uint64_t>(1, std::uint64_t(info(dtype).bits) / 8);
    return fail(fmt::format("the proof failed: tensor {} reads back differently from what was analysed, in elements {} "
                            "to {}; nothing was written",
                            quotedName(name), piece * ValueSums::kPiece / size,
                            std::min(should.bytes(), (piece + 1) * ValueSums::kPiece) / size));
}

/// What was compared is not needed again.
void dropPages(const Model& written) {
    for (const ModelFile& file : written.files) file.mapping->dropPages(0, file.size);
}

/// The same values; pages that they were read from leave memory on the way.
std::function<Result<void>(const Sink&)> dropping(const Model& written,
                                                  std::function<Result<void>(const Sink&)> produce) {
    return [&written, produce = std::move(produce)](const Sink& sink) {
        std::uint64_t kept = 0;
        return produce([&](std::span<const std::byte> piece) {
            auto taken = sink(piece);
            if ((kept += piece.size()) >= kKeptValues) {
                kept = 0;
                dropPages(written);
            }
            return taken;
        });
    };
}

Result<void> proveOne(const Model& original, const WrittenTensor& record, const Model& written, TensorProof& proof,
                      const Job& job) {
    auto reading = readingOf(written, proof.name, job);
    if (!reading) return tl::unexpected(reading.error());
    const auto view = original.view(*record.original);
    if (!view) return tl::unexpected(view.error());
    if (!record.source) {
        const TensorInfo* copy = written.find(proof.name);
        const DType dtype = record.original->dtype;
        const bool widened = copy && dtype == DType::BF16 && copy->dtype == DType::F32; // NumPy has no bfloat16
        if (!copy || (copy->dtype != dtype && !widened) || copy->shape != proof.shape)
            return fail(fmt::format("the proof failed: tensor {} is not there as it was; nothing was written",
                                    quotedName(proof.name)));
        const auto there = written.view(*copy);
        if (!there) return tl::unexpected(there.error());
        proof.readAs = copy->typeId(), proof.result = Comparison::Copied;
        return compare(
            proof.name, DType::U8,
            [&](const Sink& sink) {
                const bool decoded = widened || (record.original->packed && !copy->packed);
                return decoded ? floatsOfView(*view, job, sink) : bytesOfView(*view, job, sink);
            },
            dropping(written, [&](const Sink& sink) { return bytesOfView(*there, job, sink); }));
    }
    if (!*reading) {
        proof.reason = "no reader here decodes this layout";
        return {};
    }
    const Reading& there = **reading;
    if (there.shape != proof.shape)
        return fail(fmt::format("the proof failed: tensor {} reads back as {} instead of {}; nothing was written",
                                quotedName(proof.name), shapeText(there.shape), shapeText(proof.shape)));
    proof.readAs = there.type, proof.result = Comparison::Equal;
    record.source->pass.reset(); // measured anew
    const auto same = compare(
        proof.name, there.dtype,
        [&](const Sink& sink) { return expectedValues(*record.source, there.dtype, *record.layout, sink); },
        dropping(written, there.produce));
    record.source->pass.reset();
    return same;
}

} // namespace

void Proof::add(TensorProof one) {
    bytesPredicted += one.bytesPredicted, bytesWritten += one.bytesWritten;
    equal += one.result == Comparison::Equal, copied += one.result == Comparison::Copied;
    notCompared += one.result == Comparison::NotCompared;
    if (!one.spec.empty()) ++quantized, quantizedElements += one.elements, quantizedBytes += one.bytesWritten;
    tensors.push_back(std::move(one));
}

Result<Proof> prove(const Model& original, const std::vector<WrittenTensor>& tensors, const std::string& path,
                    const Job& job) {
    const auto written = openModel(path);
    if (!written) return fail("the proof failed: " + written.error().message);
    const auto sizes = sizesInFiles(**written);
    if (!sizes) return tl::unexpected(sizes.error());
    Proof proof;
    std::uint64_t total = 0, done = 0, index = 0, kept = 0;
    for (const WrittenTensor& record : tensors) total += record.bytes;
    for (const WrittenTensor& record : tensors) {
        if (job.cancelled()) return cancelledError();
        const TensorInfo& from = *record.original;
        job.progress(
            {double(done), double(total), "Proving " + escapeForPeople(from.name, 60), index++, tensors.size()});
        TensorProof one;
        one.name = from.name, one.dtype = from.typeId(), one.shape = from.shape, one.elements = from.elements;
        one.bytesPredicted = record.bytes;
        if (record.source) one.spec = specText(record.source->spec), one.specFull = canonicalText(record.source->spec);
        for (const std::string& field : record.fields) {
            const auto found = sizes->find(field);
            if (found == sizes->end())
                return fail(
                    fmt::format("the proof failed: tensor {} is not in what was written; nothing was left behind",
                                quotedName(field)));
            one.bytesWritten += found->second;
        }
        if (one.bytesWritten != one.bytesPredicted)
            return fail(
                fmt::format("the proof failed: tensor {} takes {} bytes instead of the {} predicted; nothing was "
                            "left behind",
                            quotedName(one.name), one.bytesWritten, one.bytesPredicted));
        if (auto good = proveOne(original, record, **written, one, job); !good) return tl::unexpected(good.error());
        proof.add(std::move(one));
        done += record.bytes;
        if ((kept += record.bytes) < kKeptPages) continue;
        kept = 0;
        dropPages(**written);
    }
    return proof;
}

} // namespace qs
