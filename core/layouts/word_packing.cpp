// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/layouts/word_packing.h"

#include "core/base/text.h"
#include "core/quant/encode/nibbles.h"
#include "core/quant/spec/calibration.h"
#include "core/quant/spec/code_set.h"

#include <algorithm>
#include <cmath>
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

SlabCoder rowCoder(const MeasuredTensor& tensor) {
    const auto features = std::uint64_t(std::max<std::int64_t>(1, tensor.grid().features));
    const auto bits = unsigned(tensor.spec().traits().bits);
    const std::uint64_t rowBytes = wordsOf(features, bits) * 4;
    const int offset = unsignedOffset(tensor.spec());
    // Ranges begin with rows or groups, which are whole words.
    const auto place = [=](std::uint64_t element) {
        return element / features * rowBytes + element % features * bits / 8;
    };
    return {place, [=](const PassRange& range, RunEncoder& encode, std::byte* at) {
                const auto codes = codesOf(range, encode);
                moveCodes(codes.data(), range.n, offset);
                const std::uint64_t from = place(range.begin);
                for (std::size_t done = 0, n = 0; done < range.n; done += n) {
                    const std::uint64_t element = range.begin + done;
                    n = std::min<std::size_t>(range.n - done, features - element % features);
                    packWords(codes.data() + done, n, bits, at + (place(element) - from));
                }
            }};
}

UnsignedZero::UnsignedZero(const MeasuredTensor& tensor)
    : tensor_(&tensor), bits_(tensor.spec().traits().bits), has_(hasZeroPoints(tensor.spec())) {}

Result<std::uint8_t> UnsignedZero::operator()(const GroupParams& params, std::uint64_t group) const {
    const int middle = 1 << (bits_ - 1);
    if (!has_) return std::uint8_t(middle);
    const float zero = params.aux + float(middle);
    if (!(zero >= 0 && zero < float(2 * middle)) || zero != float(int(zero)))
        return fail(fmt::format("tensor '{}' has a zero point of {} in group {}, which {} bits do not hold",
                                escapeForPeople(tensor_->info().name, 80), params.aux, group, bits_));
    return std::uint8_t(zero);
}

TakeScales takeZeros(const MeasuredTensor& tensor, RowCollector<std::uint8_t> rows, int less) {
    return [unsignedZero = UnsignedZero(tensor), rows = std::move(rows), less,
            group = std::uint64_t(0)](std::span<const GroupParams> params) mutable -> Result<void> {
        std::vector<std::uint8_t> zeros;
        zeros.reserve(params.size());
        for (const GroupParams& one : params) {
            const auto zero = unsignedZero(one, group++);
            if (!zero) return tl::unexpected(zero.error());
            zeros.push_back(std::uint8_t(*zero - less));
        }
        return rows.add(zeros);
    };
}

TakeScales readIn(DType type, const MeasuredTensor& tensor, TakeScales take) {
    if (type != DType::F16) return take;
    const Run& run = tensor.plan()->run();
    const float first = run.levels[0], last = run.levels[run.levelCount - 1];
    const bool hasZeros = hasZeroPoints(tensor.spec());
    return
        [&tensor, first, last, hasZeros, take = std::move(take)](std::span<const GroupParams> params) -> Result<void> {
            for (const GroupParams& one : params) {
                const float zero = hasZeros ? one.aux : 0;
                const float most = std::max(zero - first, last - zero);
                if (std::fabs(one.scale) * most > largestOf(DType::F16)) return tl::unexpected(tensor.overflow());
            }
            return take(params);
        };
}

} // namespace qs
