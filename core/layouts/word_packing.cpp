// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/layouts/word_packing.h"

#include "core/base/parallel.h"
#include "core/base/text.h"
#include "core/quant/encode/nibbles.h"
#include "core/quant/spec/calibration.h"
#include "core/quant/spec/code_set.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace qs {

void packWords(const std::uint8_t* codes, std::size_t n, unsigned bits, std::byte* at) {
    auto* bytes = reinterpret_cast<std::uint8_t*>(at);
    const std::size_t whole = std::size_t(wordsOf(n, bits)) * 4;
    std::size_t done = 0;
    if (bits == 8) {
        std::memcpy(bytes, codes, n);
        done = n;
    } else if (bits == 4) {
        packNibbles<FirstNibble::Low>(codes, n / 2 * 2, bytes);
        if (n % 2) bytes[n / 2] = codes[n - 1];
        done = (n + 1) / 2;
    } else {
        std::uint64_t held = 0;
        unsigned count = 0;
        for (std::size_t i = 0; i < n; ++i) {
            held |= std::uint64_t(codes[i]) << count;
            for (count += bits; count >= 8; count -= 8, held >>= 8) bytes[done++] = std::uint8_t(held);
        }
        if (count > 0) bytes[done++] = std::uint8_t(held);
    }
    std::memset(bytes + done, 0, whole - done);
}

bool hasIntegerCodes(const QuantSpec& spec) {
    return spec.traits().kind == FormatKind::Integer && holdsZero(spec) && !hasFractionalZeros(spec) &&
           !hasBiases(spec);
}

int unsignedOffset(const QuantSpec& spec) {
    return hasBiases(spec) ? 0 : codeSetOf(spec).valueOffset + (1 << (spec.traits().bits - 1));
}

Result<void> hasWholeGroups(const QuantSpec& spec, const ScaleGrid& grid, const char* layout) {
    if (grid.kind != ScaleKind::Block) return {};
    const auto block = std::int64_t(spec.blockSize());
    if (block % 32 == 0 && grid.features % block == 0) return {};
    return fail(fmt::format("the {} layout needs groups of a multiple of 32 that divide the {} columns, not block={}",
                            layout, grid.features, block));
}

Result<void> producePackedRows(Source& source, const TensorToWrite::Sink& sink) {
    const auto features = std::uint64_t(std::max<std::int64_t>(1, source.grid.features));
    const auto bits = unsigned(source.spec.traits().bits);
    const std::uint64_t rowBytes = wordsOf(features, bits) * 4;
    const int offset = unsignedOffset(source.spec);
    // Ranges begin with rows or groups, which are whole words.
    const auto place = [=](std::uint64_t element) {
        return element / features * rowBytes + element % features * bits / 8;
    };
    return streamSlabs(source, sink, place, [=](const PassRange& range, RunEncoder& encode, std::byte* at) {
        thread_local std::vector<std::uint8_t> codes;
        codes.resize(range.n);
        RunOut out;
        out.codes = codes.data();
        encode(range.run, out);
        moveCodes(codes.data(), range.n, offset);
        const std::uint64_t from = place(range.begin);
        for (std::size_t done = 0, n = 0; done < range.n; done += n) {
            const std::uint64_t element = range.begin + done;
            n = std::min<std::size_t>(range.n - done, features - element % features);
            packWords(codes.data() + done, n, bits, at + (place(element) - from));
        }
    });
}

Result<std::vector<std::uint8_t>> codesOfColumns(Source& source, std::uint64_t first, std::uint64_t width) {
    const auto prepared = source.prepared();
    if (!prepared) return tl::unexpected(prepared.error());
    const int offset = unsignedOffset(source.spec);
    const auto features = std::uint64_t(source.grid.features);
    std::vector<std::uint8_t> codes(std::size_t(std::uint64_t(source.grid.rows) * width));
    auto encoders = (*prepared)->encoders(source.spec, source.view.info->dtype);
    const auto done = (*prepared)->run(0, (*prepared)->units(), source.job, [&](const PassRange& range) {
        thread_local std::vector<std::uint8_t> all;
        all.resize(range.n);
        RunOut out;
        out.codes = all.data();
        encoders[range.worker](range.run, out);
        for (std::size_t at = 0, n = 0; at < range.n; at += n) {
            const std::uint64_t row = (range.begin + at) / features, column = (range.begin + at) % features;
            n = std::size_t(std::min<std::uint64_t>(range.n - at, features - column));
            const std::uint64_t begin = std::max(column, first), end = std::min(column + n, first + width);
            if (begin >= end) continue;
            const auto from = all.begin() + std::ptrdiff_t(at + (begin - column));
            std::transform(from, from + std::ptrdiff_t(end - begin),
                           codes.begin() + std::ptrdiff_t(row * width + (begin - first)),
                           [=](std::uint8_t code) { return std::uint8_t(code + offset); });
        }
    });
    if (!done) return tl::unexpected(done.error());
    return codes;
}

UnsignedZero::UnsignedZero(const Source& source)
    : source_(&source), bits_(source.spec.traits().bits), has_(hasZeroPoints(source.spec)) {}

Result<std::uint8_t> UnsignedZero::operator()(const GroupParams& params, std::uint64_t group) const {
    const int middle = 1 << (bits_ - 1);
    if (!has_) return std::uint8_t(middle);
    const float zero = params.aux + float(middle);
    if (!(zero >= 0 && zero < float(2 * middle)) || zero != float(int(zero)))
        return fail(fmt::format("tensor '{}' has a zero point of {} in group {}, which {} bits do not hold",
                                escapeForPeople(source_->view.info->name, 80), params.aux, group, bits_));
    return std::uint8_t(zero);
}

Result<std::vector<std::uint8_t>> unsignedZeros(Source& source) {
    const auto count = std::size_t(source.grid.scales);
    const UnsignedZero unsignedZero(source);
    if (!hasZeroPoints(source.spec)) return std::vector<std::uint8_t>(count, *unsignedZero({}, 0));
    std::vector<std::uint8_t> zeros;
    zeros.reserve(count);
    const auto done = eachParams(source, [&](std::span<const GroupParams> params) -> Result<void> {
        for (const GroupParams& one : params) {
            const auto zero = unsignedZero(one, zeros.size());
            if (!zero) return tl::unexpected(zero.error());
            zeros.push_back(*zero);
        }
        return {};
    });
    if (!done) return tl::unexpected(done.error());
    return zeros;
}

Result<std::vector<float>> allScales(Source& source) {
    std::vector<float> scales;
    scales.reserve(std::size_t(source.grid.scales));
    const auto done = eachParams(source, [&](std::span<const GroupParams> params) -> Result<void> {
        for (const GroupParams& one : params) scales.push_back(one.scale);
        return {};
    });
    if (!done) return tl::unexpected(done.error());
    return scales;
}

Result<void> sinkBytes(const TensorToWrite::Sink& sink, std::span<const std::byte> bytes) {
    return bytes.empty() ? Result<void>{} : sink(bytes);
}

} // namespace qs
