// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/export/proof.h"

#include "core/base/parallel.h"
#include "core/base/tensor_name.h"
#include "core/base/text.h"
#include "core/export/equal_values.h"
#include "core/layouts/model_fields.h"
#include "core/layouts/stored.h"
#include "core/model/derived_tensor.h"
#include "core/model/gguf/packed_type.h"
#include "core/model/mapped_file.h"
#include "core/quant/spec/code_set.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <fmt/format.h>
#include <iterator>
#include <optional>
#include <utility>
#include <xxhash.h>

namespace qs {
namespace {

constexpr std::size_t kPiece = std::size_t(1) << 20;
constexpr std::uint64_t kKeptPages = std::uint64_t(16) << 20;  ///< of the written files, in memory
constexpr std::uint64_t kKeptValues = std::uint64_t(16) << 20; ///< bytes that were decoded of them

/// Layouts that write another kind of file have the id of its format. Then the model lists all tensors of the file.
bool isSafetensors(const Model& written) {
    const auto all = layouts();
    return std::none_of(all.begin(), all.end(),
                        [&](const Layout& layout) { return layout.fileEnding && written.format == layout.id; });
}

/// Bytes of every tensor that the files hold, by 128 bits of their names: there may be a million.
class SizesInFiles {
public:
    void add(const TensorInfo& tensor) { rows_.push_back({keyOf(tensor.name), tensor.bytes}); }
    void sort() {
        // Of two of a name, as two files may have them, the last counts.
        std::stable_sort(rows_.begin(), rows_.end(), [](const Row& a, const Row& b) { return a.key < b.key; });
    }
    std::optional<std::uint64_t> find(std::string_view name) const {
        const auto after = std::upper_bound(rows_.begin(), rows_.end(), keyOf(name),
                                            [](const Key& key, const Row& row) { return key < row.key; });
        if (after == rows_.begin() || std::prev(after)->key != keyOf(name)) return std::nullopt;
        return std::prev(after)->bytes;
    }

private:
    using Key = std::pair<std::uint64_t, std::uint64_t>;
    struct Row {
        Key key;
        std::uint64_t bytes;
    };
    static Key keyOf(std::string_view name) {
        const auto hash = XXH3_128bits(name.data(), name.size());
        return {hash.high64, hash.low64};
    }
    std::vector<Row> rows_;
};

/// Sizes by the list of the model. A computed tensor counts by its parts.
SizesInFiles sizesInList(const Model& written) {
    SizesInFiles sizes;
    for (const TensorInfo& tensor : written.tensors) {
        const auto parts = tensor.derived ? tensor.derived->parts() : std::span<const TensorInfo>();
        if (parts.empty()) sizes.add(tensor); // else it may have the name of one of them
        for (const TensorInfo& part : parts) sizes.add(part);
    }
    sizes.sort();
    return sizes;
}

/// Sizes by the headers of the files. The model's list leaves out duplicates and parts of computed tensors.
Result<SizesInFiles> sizesInFiles(const Model& written) {
    SizesInFiles sizes;
    for (const ModelFile& file : written.files) {
        std::vector<std::byte> scratch;
        if (!isSafetensors(written)) continue;
        const auto length = safetensorsHeaderLength(file.mapping->read(0, 8, scratch));
        std::uint64_t dropped = 0;
        const auto passed = [&](std::uint64_t at) { // pages of the header leave memory behind the parser
            if (at > dropped) file.mapping->dropPages(dropped, at - dropped);
            dropped = at;
        };
        const auto header = parseSafetensorsHeader(
            file.mapping->read(0, std::size_t(std::min<std::uint64_t>(file.size, 8 + length)), scratch), file.size,
            file.path, nullptr, passed);
        if (!header) return tl::unexpected(header.error());
        for (const TensorInfo& tensor : header->tensors) sizes.add(tensor);
    }
    if (!isSafetensors(written))
        for (const TensorInfo& tensor : written.tensors) sizes.add(tensor);
    sizes.sort();
    return sizes;
}

/// Values of readers that do not compute level * scale.
void asRead(const Layout& layout, const QuantSpec& spec, const PassRange& range, RunEncoder& encode, float* values) {
    const CodeSet set = codeSetOf(spec);
    const std::size_t group = std::max<std::size_t>(1, range.run.group);
    std::vector<std::uint8_t> codes(range.n);
    std::vector<float> scales((range.n + group - 1) / group);
    RunOut out;
    out.codes = codes.data(), out.scales = scales.data();
    encode(range.run, out);
    std::vector<float> table(set.levels.size());
    for (std::size_t begin = 0; begin < range.n; begin += group) {
        const std::size_t end = std::min(range.n, begin + group);
        const float scale = scales[begin / group];
        const std::size_t n = end - begin;
        if (n < table.size()) {
            for (std::size_t i = begin; i < end; ++i) values[i] = layout.valueOf(set.levels[codes[i]], scale);
            continue;
        }
        for (std::size_t k = 0; k < table.size(); ++k) table[k] = layout.valueOf(set.levels[k], scale);
        static constexpr float kOne = 1;
        bestKernels().dequantize(codes.data() + begin, n, n, &kOne, table.data(), int(table.size()), values + begin);
    }
}

/// Values of readers that round between their steps.
void asRead(const ReadAs& readAs, const PassRange& range, RunEncoder& encode, float* values) {
    const std::size_t group = std::max<std::size_t>(1, range.run.group);
    thread_local std::vector<std::uint8_t> codes;
    thread_local std::vector<float> scales, zeros;
    codes.resize(range.n);
    scales.assign((range.n + group - 1) / group, 0);
    zeros.assign(scales.size(), 0);
    RunOut out;
    out.codes = codes.data(), out.scales = scales.data(), out.zeros = zeros.data();
    encode(range.run, out);
    readAs(codes, scales, zeros, group, values);
}

/// The values that the layout's reader must give for a range of the source.
void expectedValues(const TensorInLayout& source, const Layout& layout, const PassRange& range, RunEncoder& encode,
                    float* values) {
    if (source.fields.readAs) return asRead(source.fields.readAs, range, encode, values);
    if (layout.valueOf) {
        asRead(layout, source.tensor.spec(), range, encode, values);
    } else {
        RunOut out;
        out.decoded = values;
        encode(range.run, out);
    }
    const Solved* solved = source.tensor.solved();
    if (solved) applyColumnScales(solved->columnScales, range.begin, values, range.n);
}

/// A tensor of the written files, plain or decoded.
struct Reading {
    DType dtype = DType::F32;
    std::string type;
    std::vector<std::int64_t> shape;
    /// `n` elements from `begin` on, in that type; called from several threads.
    std::function<void(std::uint64_t begin, std::size_t n, std::byte* into)> read;
    std::function<Result<void>()> unchanged; ///< null: as the files
};

Result<std::optional<Reading>> readingOf(const Model& written, const std::string& name) {
    if (const TensorInfo* tensor = written.find(name)) {
        if (!info(tensor->dtype).quantizable && !tensor->derived) return std::optional<Reading>();
        auto view = written.view(*tensor);
        if (!view) return tl::unexpected(view.error());
        if (tensor->packed && !tensor->packed->decode) return std::optional<Reading>();
        const auto size = std::uint64_t(info(tensor->dtype).bits) / 8;
        return Reading{tensor->dtype, tensor->typeId(), tensor->shape,
                       [view = *view, size](std::uint64_t begin, std::size_t n, std::byte* into) {
                           if (view.info->packed) return loadF32(view, begin, n, reinterpret_cast<float*>(into));
                           view.readInto(begin * size, {into, n * std::size_t(size)});
                       },
                       [tensor] { return tensor->derived ? tensor->derived->unchanged() : Result<void>(); }};
    }
    const std::string key = std::string(kStoredPrefix) + name;
    for (const ModelFile& file : written.files)
        if (const auto said = file.metadata.find(key); said != file.metadata.end()) {
            auto stored = parseStored(key, said->second);
            if (!stored) return tl::unexpected(stored.error());
            const std::string type = stored->spec.format;
            auto decoded = storedValues(written, std::move(*stored), std::nullopt);
            if (!decoded) return tl::unexpected(decoded.error());
            return Reading{(*decoded)->dtype(), type, (*decoded)->shape(),
                           [values = *decoded](std::uint64_t begin, std::size_t n, std::byte* into) {
                               values->read(begin, n, into);
                           },
                           nullptr};
        }
    return std::optional<Reading>();
}

tl::unexpected<Error> differs(const std::string& name, std::uint64_t element) {
    return fail(fmt::format("the proof failed: tensor {} reads back differently from what was analysed, first in "
                            "element {}; nothing was written",
                            quotedName(name), element));
}

/// Frees the pages of files that were compared.
void dropPages(const Model& written) {
    for (const ModelFile& file : written.files) file.mapping->dropPages(0, file.size);
}

/// Frees pages of the written files after every kKeptValues decoded bytes.
class PageKeeper {
public:
    explicit PageKeeper(const Model& written) : written_(written) {}
    void decoded(std::uint64_t bytes) {
        const std::uint64_t before = bytes_.fetch_add(bytes, std::memory_order_relaxed);
        if (before / kKeptValues != (before + bytes) / kKeptValues) dropPages(written_);
    }

private:
    const Model& written_;
    std::atomic<std::uint64_t> bytes_{0};
};

/// The least of what several threads find.
class FirstDifference {
public:
    static constexpr std::uint64_t kNone = ~std::uint64_t(0);
    void at(std::uint64_t element) {
        std::uint64_t before = least_.load(std::memory_order_relaxed);
        while (element < before && !least_.compare_exchange_weak(before, element, std::memory_order_relaxed)) {
        }
    }
    std::uint64_t element() const { return least_.load(std::memory_order_relaxed); }

private:
    std::atomic<std::uint64_t> least_{kNone};
};

/// Compares a worker's values in order, many at a time, because rows may be short.
class Comparing {
public:
    Comparing(const Reading& there, PageKeeper& pages, FirstDifference& first)
        : there_(there), pages_(pages), first_(first), size_(std::size_t(info(there.dtype).bits) / 8) {}
    /// Where the values of the next range go.
    float* room(std::uint64_t begin, std::size_t n) {
        if (held_ > 0 && (begin != begin_ + held_ || held_ + n > kHeld)) flush();
        if (held_ == 0) begin_ = begin;
        if (values_.size() < held_ + n) values_.resize(std::max(held_ + n, kHeld));
        held_ += n;
        return values_.data() + (held_ - n);
    }
    void flush() {
        const std::size_t n = std::exchange(held_, 0);
        if (n == 0) return;
        if (is_.size() < n * size_) is_.resize(n * size_);
        const std::byte* should = std::as_bytes(std::span(values_)).data();
        if (there_.dtype != DType::F32) {
            should_.resize(is_.size());
            appendAs(there_.dtype, values_.data(), n, should_.data());
            should = should_.data();
        }
        there_.read(begin_, n, is_.data());
        const std::size_t same = equalValues(there_.dtype, should, is_.data(), n);
        if (same < n) first_.at(begin_ + same);
        pages_.decoded(n * size_);
    }

private:
    static constexpr std::size_t kHeld = 2 * kChunk; ///< elements: both sides stay in the cache
    const Reading& there_;
    PageKeeper& pages_;
    FirstDifference& first_;
    std::size_t size_, held_ = 0;
    std::uint64_t begin_ = 0;
    std::vector<float> values_;
    std::vector<std::byte> should_, is_;
};

/// Compares values computed from the source with values decoded from the files, on all cores.
Result<void> compareValues(TensorInLayout& source, const Layout& layout, const Reading& there, const Model& written,
                           const std::string& name) {
    MeasuredTensor& tensor = source.tensor;
    tensor.forget(); // measured anew
    const auto made = tensor.pass();
    if (!made) return tl::unexpected(made.error());
    const TensorPass& pass = **made;
    PageKeeper pages(written);
    FirstDifference first;
    auto encoders = tensor.encoders();
    std::vector<Comparing> comparing(workerCount(), Comparing(there, pages, first));
    const auto done = pass.run(0, pass.units(), tensor.job(), [&](const PassRange& range) {
        float* values = comparing[range.worker].room(range.begin, range.n);
        expectedValues(source, layout, range, encoders[range.worker], values);
    });
    for (Comparing& one : comparing) one.flush();
    tensor.dropPass();
    if (!done) return done;
    if (there.unchanged)
        if (auto same = there.unchanged(); !same) return same;
    if (first.element() != FirstDifference::kNone) return differs(name, first.element());
    return {};
}

/// Compares the bytes of a copy, or its values if the file holds another type.
Result<void> compareCopies(const TensorView& from, const TensorView& there, bool decoded, const Model& written,
                           const Job& job, const std::string& name) {
    const std::uint64_t size = std::max<std::uint64_t>(1, std::uint64_t(info(there.info->dtype).bits) / 8);
    PageKeeper pages(written);
    std::vector<std::byte> scratch, other;
    std::vector<float> values;
    const TensorView read = forScan(from, kReadBytes);
    for (std::uint64_t at = 0; at < there.info->bytes; at += kPiece) {
        if (job.cancelled()) return cancelledError();
        const auto n = std::size_t(std::min<std::uint64_t>(kPiece, there.info->bytes - at));
        const auto is = there.read(at, n, scratch);
        std::span<const std::byte> should;
        if (decoded) {
            values.resize(n / sizeof(float));
            loadF32(from, at / sizeof(float), values.size(), values.data());
            should = std::as_bytes(std::span(values));
        } else {
            should = read.read(at, n, other);
        }
        pages.decoded(n);
        if (std::memcmp(is.data(), should.data(), n) == 0) continue;
        const auto place = std::mismatch(is.begin(), is.end(), should.begin(), should.end());
        return differs(name, (at + std::uint64_t(place.first - is.begin())) / size);
    }
    return from.file ? from.file->unchanged() : Result<void>();
}

Result<void> proveOne(const Model& original, const WrittenTensor& record, const Layout& layout, TensorInLayout* source,
                      const Model& written, TensorProof& proof, const Job& job) {
    auto reading = readingOf(written, proof.name);
    if (!reading) return tl::unexpected(reading.error());
    const auto view = original.view(*record.original);
    if (!view) return tl::unexpected(view.error());
    if (!source) {
        const TensorInfo* copy = written.find(proof.name);
        const DType dtype = record.original->dtype;
        const bool widened = copy && dtype == DType::BF16 && copy->dtype == DType::F32; // NumPy has no bfloat16
        if (!copy || (copy->dtype != dtype && !widened) || copy->shape != proof.shape)
            return fail(fmt::format("the proof failed: tensor {} is not there as it was; nothing was written",
                                    quotedName(proof.name)));
        const auto there = written.view(*copy);
        if (!there) return tl::unexpected(there.error());
        proof.readAs = copy->typeId(), proof.result = Comparison::Copied;
        const bool decoded = widened || (record.original->packed && !copy->packed);
        if (!decoded && view->info->bytes != there->info->bytes)
            return fail(fmt::format("the proof failed: tensor {} takes {} bytes instead of {}; nothing was written",
                                    quotedName(proof.name), there->info->bytes, view->info->bytes));
        return compareCopies(*view, *there, decoded, written, job, proof.name);
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
    return compareValues(*source, layout, there, written, proof.name);
}

} // namespace

void Proof::add(TensorProof one) {
    bytesPredicted += one.bytesPredicted, bytesWritten += one.bytesWritten, elements += one.elements;
    equal += one.result == Comparison::Equal, copied += one.result == Comparison::Copied;
    notCompared += one.result == Comparison::NotCompared;
    if (!one.spec.empty()) ++quantized, quantizedElements += one.elements, quantizedBytes += one.bytesWritten;
    tensors.push_back(std::move(one));
}

Result<Proof> prove(const Model& original, const WrittenModel& what, const std::string& path, const Job& job) {
    const auto written = openModel(path);
    if (!written) return fail("the proof failed: " + written.error().sentence());
    SizesInFiles sizes = sizesInList(**written);
    bool isWholeList = false;
    const auto sizeOf = [&](const std::string& field) -> Result<std::optional<std::uint64_t>> {
        auto found = sizes.find(field);
        if (found || isWholeList) return found;
        auto all = sizesInFiles(**written);
        if (!all) return tl::unexpected(all.error());
        sizes = std::move(*all), isWholeList = true;
        return sizes.find(field);
    };
    Proof proof;
    std::uint64_t total = 0, done = 0, index = 0, kept = 0;
    for (const WrittenTensor& record : what.tensors) total += record.bytes;
    for (const WrittenTensor& record : what.tensors) {
        if (job.cancelled()) return cancelledError();
        const TensorInfo& from = *record.original;
        job.progress(
            {double(done), double(total), "Proving " + escapeForPeople(from.name, 60), index++, what.tensors.size()});
        TensorProof one;
        one.name = from.name, one.dtype = from.typeId(), one.shape = from.shape, one.elements = from.elements;
        one.bytesPredicted = record.bytes;
        if (record.spec) one.spec = specText(*record.spec), one.specFull = canonicalText(*record.spec);
        TensorInLayout* source = nullptr;
        std::vector<std::string> fields{from.name};
        if (record.spec) {
            const auto made = what.fieldsOf(record);
            if (!made) return tl::unexpected(made.error());
            source = *made;
            fields.clear();
            for (const OutputField& field : source->fields.list) fields.push_back(field.name);
        }
        for (const std::string& field : fields) {
            const auto size = sizeOf(field);
            if (!size) return tl::unexpected(size.error());
            if (!*size)
                return fail(
                    fmt::format("the proof failed: tensor {} is not in what was written; nothing was left behind",
                                quotedName(field)));
            one.bytesWritten += **size;
        }
        if (one.bytesWritten != one.bytesPredicted)
            return fail(
                fmt::format("the proof failed: tensor {} takes {} bytes instead of the {} predicted; nothing was "
                            "left behind",
                            quotedName(one.name), one.bytesWritten, one.bytesPredicted));
        if (auto good = proveOne(original, record, *what.layout, source, **written, one, job); !good)
            return tl::unexpected(good.error());
        proof.add(std::move(one));
        done += record.bytes;
        if ((kept += record.bytes) < kKeptPages) continue;
        kept = 0;
        dropPages(**written);
    }
    return proof;
}

} // namespace qs
