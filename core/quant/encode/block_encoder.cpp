// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/quant/encode/block_encoder.h"

#include "core/quant/spec/dialect.h"
#include "kernels/blocks/block_set.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>

namespace qs {
namespace {

constexpr std::size_t kPiece = 4096; ///< elements that go through all steps while they are in the first-level cache
/// Blocks of smaller values have scales that f16 holds: no scale of ggml is larger than the largest magnitude.
constexpr float kSurelyHeld = 32768;

RunOut from(const RunOut& out, std::size_t element, std::size_t group) {
    RunOut part = out;
    if (part.codes) part.codes += element;
    if (part.decoded) part.decoded += element;
    if (part.scales) part.scales += group;
    if (part.groupSse) part.groupSse += group;
    if (part.groupSsw) part.groupSsw += group;
    if (part.groupAbsMax) part.groupAbsMax += group;
    return part;
}

/// The format with the nearest bits that takes rows of any length, or of this one.
std::string nearestFormat(const QuantSpec& spec, std::int64_t features, bool blocks) {
    const FormatTraits* best = nullptr;
    const int bits = spec.traits().bits;
    for (const FormatTraits& format : formats()) {
        const bool takes = blocks ? format.kind == FormatKind::Superblock && features % format.codec->elements == 0
                                  : format.kind == FormatKind::Integer;
        if (takes && (!best || std::abs(format.bits - bits) < std::abs(best->bits - bits))) best = &format;
    }
    return best ? best->id : "";
}

} // namespace

const BlockCodec* codecOf(const QuantSpec& spec) { return dialectOf(spec).packsBlocks ? spec.traits().codec : nullptr; }

std::uint64_t blockBytes(const BlockCodec& codec, std::uint64_t elements) {
    return elements / codec.elements * codec.bytes;
}

Result<void> checkBlocks(const QuantSpec& spec, std::int64_t features) {
    const BlockCodec* codec = codecOf(spec);
    if (!codec || features % codec->elements == 0) return {};
    const std::string blocks = nearestFormat(spec, features, true), other = nearestFormat(spec, features, false);
    return advise(fmt::format("rows of {} values are not whole blocks of {}, as {} needs", features, codec->elements,
                              spec.format),
                  {blocks.empty() ? other : blocks});
}

const float* BlockEncoder::finite(const float* x, std::size_t n) {
    largest_ = bestKernels().absMax(x, n, false);
    if (std::isfinite(largest_)) return x;
    finite_.assign(x, x + n);
    for (std::size_t begin = 0; begin < n; begin += codec_->elements) {
        float low = 0, high = 0;
        const std::size_t end = begin + codec_->elements;
        for (std::size_t i = begin; i < end; ++i)
            if (std::isfinite(x[i])) low = std::min(low, x[i]), high = std::max(high, x[i]);
        for (std::size_t i = begin; i < end; ++i)
            if (!std::isfinite(x[i])) finite_[i] = std::isnan(x[i]) ? 0 : x[i] > 0 ? high : low;
    }
    return finite_.data();
}

void BlockEncoder::encode(const float* x, std::size_t n, std::uint8_t* bytes) {
    const std::size_t blocks = n / codec_->elements;
    codec_->encode(finite(x, n), blocks, bytes);
    if (!overflow_ || largest_ <= kSurelyHeld) return;
    std::vector<float> decoded(n);
    codec_->decode(bytes, blocks, decoded.data());
    if (!std::isfinite(bestKernels().absMax(decoded.data(), n, false)))
        overflow_->store(true, std::memory_order_relaxed);
}

void BlockEncoder::pack(const Run& run, std::uint8_t* bytes) {
    for (std::size_t at = 0; at < run.n; at += kPiece) {
        const std::size_t n = std::min(kPiece, run.n - at);
        encode(run.x + at, n, bytes + blockBytes(*codec_, at));
    }
}

void BlockEncoder::operator()(const Run& run, const RunOut& out) {
    for (std::size_t at = 0; at < run.n; at += kPiece) {
        Run part = run;
        part.x += at, part.n = std::min(kPiece, run.n - at);
        piece(part, from(out, at, at / run.group));
    }
}

void BlockEncoder::piece(const Run& run, const RunOut& out) {
    const KernelSet& kernels = bestKernels();
    const std::size_t n = run.n, blocks = n / codec_->elements, groups = n / run.group;
    if (bytes_.size() < blocks * codec_->bytes) bytes_.resize(blocks * codec_->bytes);
    if (decoded_.size() < n) {
        for (auto* buffer : {&decoded_, &errors_, &places_}) buffer->resize(n);
        codes_.resize(n), scales_.resize(n);
    }
    encode(run.x, n, bytes_.data());
    codec_->decode(bytes_.data(), blocks, decoded_.data());
    codec_->codes(bytes_.data(), blocks, codes_.data());
    codec_->scales(bytes_.data(), blocks, scales_.data());
    if (out.codes) std::copy_n(codes_.data(), n, out.codes);
    if (out.decoded) std::copy_n(decoded_.data(), n, out.decoded);
    if (out.scales) std::copy_n(scales_.data(), groups, out.scales);
    const BlockValues values{run.x,     decoded_.data(), codes_.data(), n,
                             run.group, scales_.data(),  run.levels,    run.levelCount};
    const bool measured =
        out.sums || out.codeCounts || out.errorBins || out.valueBins || out.groupSse || out.groupSsw || out.groupAbsMax;
    if (!measured) return;
    blocksOf(kernels).measure(values, out, errors_.data(), places_.data());
    if (out.errorBins) kernels.floatBins(errors_.data(), n, out.errorBins);
    if (out.valueBins) kernels.floatBins(places_.data(), n, out.valueBins);
}

} // namespace qs
