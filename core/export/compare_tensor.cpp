// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/export/compare_tensor.h"

#include "core/base/parallel.h"
#include "core/base/tensor_name.h"
#include "core/export/equal_values.h"
#include "core/layouts/read_values.h"
#include "core/layouts/stored.h"
#include "core/model/computed_type.h"
#include "core/model/derived_tensor.h"
#include "core/model/gguf/packed_type.h"
#include "core/model/mapped_file.h"
#include "core/quant/spec/code_set.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <fmt/format.h>
#include <utility>

namespace qs {
namespace {

constexpr std::size_t kPiece = std::size_t(1) << 20;
constexpr std::uint64_t kKeptValues = std::uint64_t(16)
                                      << 20; ///< bytes of decoded values of the written files that may stay in memory

tl::unexpected<Error> differs(const std::string& name, std::uint64_t element) {
    return fail(fmt::format("the proof failed: tensor {} reads back differently from what was analysed, first in "
                            "element {}; nothing was written",
                            quotedName(name), element));
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

/// The smallest of the numbers that several threads find.
class FirstDifference {
public:
    void at(std::uint64_t element) {
        std::uint64_t before = least_.load(std::memory_order_relaxed);
        while (element < before && !least_.compare_exchange_weak(before, element, std::memory_order_relaxed)) {
        }
    }
    std::uint64_t element() const { return least_.load(std::memory_order_relaxed); }

private:
    std::atomic<std::uint64_t> least_{~std::uint64_t(0)};
};

/// Compares a worker's values in order, many at a time, because rows may be short.
class Comparing {
public:
    Comparing(const Reading& there, PageKeeper& pages, FirstDifference& first)
        : there_(there), pages_(pages), first_(first), size_(std::size_t(info(there.dtype).bits) / 8) {}
    std::uint64_t compared() const { return compared_; }
    std::uint64_t differing() const { return differing_; }
    /// The memory for the values of the next range.
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
            appendFinite(there_.dtype, values_.data(), n, should_.data());
            should = should_.data();
        }
        there_.read(begin_, n, is_.data());
        compared_ += n;
        for (std::size_t at = 0; at < n; ++at) {
            at += equalValues(there_.dtype, should + at * size_, is_.data() + at * size_, n - at);
            if (at == n) break;
            if (differing_++ == 0) first_.at(begin_ + at);
        }
        pages_.decoded(n * size_);
    }

private:
    static constexpr std::size_t kHeld = 2 * kChunk; ///< elements; both sides then fit the cache
    const Reading& there_;
    PageKeeper& pages_;
    FirstDifference& first_;
    std::size_t size_, held_ = 0;
    std::uint64_t begin_ = 0, compared_ = 0, differing_ = 0;
    std::vector<float> values_;
    std::vector<std::byte> should_, is_;
};

} // namespace

void dropPages(const Model& written) {
    for (const ModelFile& file : written.files) file.mapping->dropPages(0, file.size);
}

Result<std::optional<Reading>> readingOf(const Model& written, const std::string& name) {
    if (const TensorInfo* tensor = written.find(name)) {
        const bool isCode = computedType(tensor->dtype) != tensor->dtype; // with scales elsewhere
        if ((!info(tensor->dtype).quantizable || isCode) && !tensor->derived) return std::optional<Reading>();
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

Result<Differences> countDifferences(TensorInLayout& source, const Layout& layout, const Reading& there,
                                     const Model& written, std::uint64_t mostUnits) {
    MeasuredTensor& tensor = source.tensor;
    tensor.forget(); // it is measured again later
    const auto made = tensor.pass();
    if (!made) return tl::unexpected(made.error());
    const TensorPass& pass = **made;
    PageKeeper pages(written);
    FirstDifference first;
    auto encoders = tensor.encoders();
    std::vector<Comparing> comparing(workerCount(), Comparing(there, pages, first));
    const auto done = pass.run(0, std::min(pass.units(), mostUnits), tensor.job(), [&](const PassRange& range) {
        float* values = comparing[range.worker].room(range.begin, range.n);
        readValues(source, layout, range, encoders[range.worker], values);
    });
    Differences out;
    for (Comparing& one : comparing) {
        one.flush();
        out.compared += one.compared(), out.differing += one.differing();
    }
    tensor.dropPass();
    if (!done) return tl::unexpected(done.error());
    if (there.unchanged)
        if (auto same = there.unchanged(); !same) return tl::unexpected(same.error());
    if (out.differing > 0) out.first = first.element();
    return out;
}

Result<void> compareValues(TensorInLayout& source, const Layout& layout, const Reading& there, const Model& written,
                           const std::string& name) {
    const auto found = countDifferences(source, layout, there, written);
    if (!found) return tl::unexpected(found.error());
    return found->differing > 0 ? differs(name, found->first) : Result<void>();
}

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

} // namespace qs
