// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/cuda/product.h"

#include "kernels/cuda/ptx.h"
#include "kernels/nf4_thresholds.h"
#include "plugins/common/operands.h"

#include <chrono>

namespace qs::cuda {
namespace {

using plugin::is;
std::uint64_t product(std::int64_t a, std::int64_t b) { return std::uint64_t(a) * std::uint64_t(b); }

/// Plans a product in which cuBLASLt applies the scales. It cannot add an f32 bias, and needs n to be a multiple of 16.
/// cuBLASLt may decline for other reasons.
std::optional<Blas::ByteProduct> scaledProduct(const Blas& blas, std::int64_t m, std::int64_t n, std::int64_t k,
                                               bool toBf16, bool bias, const float* xScale) {
    if (bias || n % 16 != 0) return std::nullopt;
    return blas.planScaled(roundUp(m, 16), n, roundUp(k, kTileDepth), toBf16, xScale);
}

} // namespace

bool scalesItself(const Device& device, const qs_problem& p) {
    return scaledProduct(device.blas, p.m, p.n, p.k, is(p.out, "bf16"), p.flags & QS_PROBLEM_BIAS,
                         static_cast<const float*>(device.blas.anywhere()))
        .has_value();
}

Product::Product(Device& device, const qs_problem& p, const VariantRow& row, Plan plan, const qs_tensor* const* in,
                 std::uint32_t count)
    : device_(device), row_(row), plan_(std::move(plan)), m_(p.m), n_(p.n), k_(p.k), depth_(roundUp(p.k, kTileDepth)),
      mPadded_(roundUp(p.m, 128)), nPadded_(roundUp(p.n, kTileRows)), kn_(p.flags & QS_PROBLEM_W_IS_KN),
      dynamic_(p.flags & QS_PROBLEM_DYNAMIC_ACT), outBf16_(is(p.out, "bf16")), isProduct_(is(p.op, "matmul")) {
    if (p.act) actBf16_ = is(plugin::given(p.act).format, "bf16");
    info_.fusion = row.fusion;
    info_.repack_ms = info_.upload_ms = info_.compile_ms = -1; // unknown, unless it is measured below
    info_.flops = info_.bytes_accessed = -1;
    info_.peak_bytes = info_.code_bytes = -1;
    if (isProduct_ && (p.flags & QS_PROBLEM_BIAS))
        bias_ = Memory(plugin::input(in, count, "bias", "f32", 4 * std::uint64_t(n_)), 4 * std::size_t(n_));
    prepareWeights(in, count);
    prepareRooms();
    check(cudaDeviceSynchronize(), "prepare");
}

void Product::prepareWeights(const qs_tensor* const* in, std::uint32_t count) {
    if (row_.path == Path::QuantizeActivations) {
        info_.weight_bytes = 0;
        return copies_.push_back({});
    }
    const plugin::WeightLayout& w = plan_.weight;
    using Clock = std::chrono::steady_clock;
    const auto since = [](Clock::time_point start) {
        return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    };
    const auto begin = Clock::now();
    if (row_.path == Path::Quantize || row_.path == Path::QuantizeBySearch) {
        const std::size_t bytes = 4 * product(n_, k_);
        copies_.push_back({Memory(plugin::input(in, count, "source", "f32", bytes), bytes), {}});
        if (plan_.coder) {
            levels_ = Memory(plan_.coder->thresholds.data(), 4 * plan_.coder->thresholds.size());
            stored_ = Memory(plan_.coder->stored.data(), plan_.coder->stored.size());
        } else
            levels_ = Memory(nf4Thresholds().threshold, 15 * sizeof(float));
        if (plan_.measures) {
            measured_ = Memory(w.levels.data(), 4 * w.levels.size());
            partials_ = Memory(4 * sizeof(double) * kMostQuantizerBlocks), totals_ = Memory(4 * sizeof(double));
        }
        info_.upload_ms = since(begin), info_.weight_bytes = std::int64_t(bytes);
        return;
    }
    const auto* bytes = static_cast<const std::uint8_t*>(plugin::input(in, count, "weight", w.dtype, w.weightBytes()));
    const float* scales =
        w.scaleCount ? static_cast<const float*>(plugin::input(in, count, "scale", "f32", 4 * w.scaleCount)) : nullptr;
    info_.weight_bytes = std::int64_t(w.weightBytes() + 4 * w.scaleCount);

    switch (row_.path) {
    case Path::Skinny:
    case Path::Staged:
    case Path::Large: {
        TiledWeight t = tiled(w, *plan_.tiling, kn_, n_, k_, bytes, scales);
        info_.repack_ms = since(begin);
        const auto uploaded = Clock::now();
        copies_.push_back({Memory(t.codes.data(), t.codes.size()), Memory(t.scales.data(), 4 * t.scales.size())});
        levels_ = Memory(t.levels.data(), 4 * t.levels.size());
        info_.weight_bytes = std::int64_t(t.bytes());
        t.codes.clear(), t.scales.clear();
        shape_ = std::move(t);
        info_.upload_ms = since(uploaded);
        return;
    }
    case Path::Integers:
    case Path::E4m3: { // the padded matrix is [nPadded][depth], with zeros beyond n and k
        std::vector<std::int8_t> padded(product(nPadded_, depth_));
        std::vector<float> channel(std::size_t(nPadded_), 1.f);
        for (std::int64_t r = 0; r < w.rows; ++r)
            for (std::int64_t c = 0; c < w.columns; ++c) {
                const std::int64_t n = kn_ ? c : r, k = kn_ ? r : c;
                padded[std::size_t(n * depth_ + k)] = std::int8_t(bytes[r * w.rowBytes + c]);
            }
        for (std::int64_t n = 0; n < n_ && scales; ++n)
            channel[std::size_t(n)] = scales[kn_ ? w.scaleIndex(0, n) : w.scaleIndex(n, 0)];
        info_.repack_ms = since(begin);
        const auto uploaded = Clock::now();
        copies_.push_back({Memory(padded.data(), padded.size()), Memory(channel.data(), 4 * channel.size())});
        info_.upload_ms = since(uploaded);
        info_.weight_bytes = std::int64_t(padded.size() + 4 * channel.size());
        return;
    }
    default: break;
    }
    Weights stored{Memory(bytes, w.weightBytes()), Memory(scales, 4 * w.scaleCount)};
    if (w.meaning != plugin::CodeMeaning::Float) {
        std::vector<float> levels = w.levels;
        levels_ = Memory(levels.data(), 4 * levels.size());
    }
    info_.upload_ms = since(begin);
    const std::size_t denseBytes = 2 * product(n_, k_);
    if (row_.path == Path::DequantizedBefore || (row_.path == Path::Bf16 && w.isFloat(32))) {
        Weights dense{Memory(denseBytes), {}};
        const auto start = Clock::now();
        if (w.isFloat(32))
            check(roundToBf16(stored.codes.as<float>(), n_ * k_, dense.codes.as<void>(), device_.stream), "round");
        else
            decode(stored, dense.codes.as<void>(), Element::Bf16);
        check(cudaStreamSynchronize(device_.stream), "dequantize");
        info_.repack_ms = since(start), info_.weight_bytes = std::int64_t(denseBytes);
        stored = std::move(dense);
    }
    if (row_.path == Path::DequantizedInRun) dense_ = Memory(denseBytes);
    copies_.push_back(std::move(stored));
}

/// True if the host's x needs no padding or conversion for our kernels.
bool Product::xIsPadded() const { return actBf16_ && k_ == depth_ && (row_.path != Path::Large || m_ == mPadded_); }

StagedShape Product::staged() const { return stagedShape(shape_.bits, m_, n_, k_, device_.processors); }

void Product::prepareRooms() {
    const std::size_t outSize = outBf16_ ? 2 : 4;
    switch (row_.path) {
    case Path::Skinny: // Skinny and Staged read no row beyond m, so x needs no padding of rows
    case Path::Staged:
    case Path::Large:
        x_ = Memory(product(m_, k_) * (actBf16_ ? 2 : 4));
        if (!xIsPadded()) padded_ = Memory(2 * product(row_.path == Path::Large ? mPadded_ : m_, depth_));
        if (row_.path == Path::Staged) {
            const StagedShape shape = staged();
            sums_ = Memory(4 * shape.sums), finished_ = Memory(4 * std::size_t(shape.groups));
            finished_.zero();
        }
        break;
    case Path::Integers:
    case Path::E4m3:
        x_ = Memory(product(m_, k_) * (dynamic_ ? 4 : 1));
        mPadded_ = roundUp(m_, 16);
        padded_ = Memory(product(mPadded_, depth_)), xScale_ = Memory(4 * std::size_t(mPadded_));
        if (row_.path == Path::E4m3)
            if (auto scaled = scaledProduct(device_.blas, m_, n_, k_, outBf16_, bias_.bytes(), xScale_.as<float>())) {
                bytes_ = std::move(*scaled);
                break;
            }
        sums_ = Memory(4 * product(mPadded_, nPadded_));
        bytes_ = device_.blas.planBytes(row_.path == Path::E4m3 ? Blas::Byte::E4m3 : Blas::Byte::Int8, mPadded_,
                                        nPadded_, depth_);
        break;
    case Path::F32: x_ = Memory(4 * product(m_, k_)); break;
    case Path::Bf16:
    case Path::DequantizedInRun:
    case Path::DequantizedBefore:
        x_ = Memory(product(m_, k_) * (actBf16_ ? 2 : 4));
        if (!actBf16_) padded_ = Memory(2 * product(m_, k_));
        break;
    case Path::Dequantize: y_ = Memory(outSize * product(n_, k_)); break;
    case Path::Quantize:
    case Path::QuantizeBySearch:
        y_ = Memory(plan_.weight.weightBytes()), yScale_ = Memory(4 * plan_.weight.scaleCount);
        break;
    case Path::QuantizeActivations:
        x_ = Memory(4 * product(m_, k_)), y_ = Memory(product(m_, k_)), yScale_ = Memory(4 * std::size_t(m_));
        break;
    }
    if (isProduct_) {
        y_ = Memory(outSize * product(bytes_.scaled ? mPadded_ : m_, n_));
        const bool blas = !isTiled() && row_.path != Path::Integers && row_.path != Path::E4m3;
        if (blas && (outBf16_ || bias_.bytes())) sums_ = Memory(4 * product(m_, n_));
    }
    yBytes_ = isProduct_ ? outSize * product(m_, n_) : y_.bytes();
    info_.arg_bytes = std::int64_t(copies_[0].codes.bytes() + copies_[0].scales.bytes() + x_.bytes());
    info_.out_bytes = std::int64_t(yBytes_ + yScale_.bytes());
    info_.temp_bytes = std::int64_t(padded_.bytes() + sums_.bytes() + dense_.bytes());
}

std::vector<std::string> Product::kernelNames() const {
    const int mode = int(shape_.mode);
    switch (row_.path) {
    case Path::Skinny: return {skinnyName(shape_.bits, skinnyShape(m_, k_).columns, mode, shape_.block, shape_.affine)};
    case Path::Staged: return {stagedName(shape_.bits, staged().columns, mode, shape_.block, shape_.affine)};
    case Path::Large: return {largeName(shape_.bits, mode, shape_.affine)};
    case Path::Integers:
        if (dynamic_) return {quantizerName(Quantizer::Int8, false, keepsRows(k_, k_, depth_)), kFinishIntegersName};
        return {kFinishIntegersName};
    case Path::E4m3:
        if (bytes_.scaled) return {quantizerName(Quantizer::E4m3, false, keepsRows(k_, k_, depth_))};
        return {quantizerName(Quantizer::E4m3, false, keepsRows(k_, k_, depth_)), kFinishScaledName};
    case Path::DequantizedInRun:
    case Path::Dequantize: {
        const bool toBf16 = row_.path == Path::DequantizedInRun || outBf16_;
        const StoredMatrix matrix = stored(copies_[0]);
        if (!groupOfRun(matrix, toBf16 ? Element::Bf16 : Element::F32)) return {decodeName(toBf16)};
        return {decodeRunName(matrix.bits, matrix.highFirst, toBf16)};
    }
    case Path::Quantize:
    case Path::QuantizeBySearch: {
        const bool whole = plan_.weight.columnBlock == 64 && k_ % 64 == 0;
        const Quantizer quantizer = row_.path == Path::QuantizeBySearch ? Quantizer::BySearch
                                    : plan_.weight.isSignedBytes()      ? Quantizer::Int8
                                    : whole                             ? Quantizer::Nf4Whole64
                                                                        : Quantizer::Nf4;
        const plugin::WeightLayout& w = plan_.weight;
        const bool kept = keepsRows(k_, w.columnStride ? w.columnBlock : k_, k_);
        if (!plan_.measures) return {quantizerName(quantizer, false, kept)};
        return {quantizerName(quantizer, true, kept), kJoinTotalsName};
    }
    case Path::QuantizeActivations: return {quantizerName(Quantizer::Int8, false, keepsRows(k_, k_, k_))};
    default: return {};
    }
}

void Product::copies(std::uint32_t count) {
    while (copies_.size() < count) copies_.push_back({copies_[0].codes.copy(), copies_[0].scales.copy()});
}

void Product::upload(const qs_tensor* const* act, std::uint32_t count) {
    const auto send = [&](const Memory& to, const char* role, const char* dtype, std::size_t bytes) {
        check(cudaMemcpy(to.as<void>(), plugin::input(act, count, role, dtype, bytes), bytes, cudaMemcpyHostToDevice),
              "copy to the device");
    };
    if (!x_.bytes()) return;
    const bool int8 = row_.path == Path::Integers && !dynamic_;
    send(x_, "act", int8 ? "i8" : actBf16_ ? "bf16" : "f32", x_.bytes());
    if (int8) send(xScale_, "act_scale", "f32", 4 * std::size_t(m_));
}

StoredMatrix Product::stored(const Weights& weights) const {
    const plugin::WeightLayout& w = plan_.weight;
    StoredMatrix matrix;
    matrix.codes = weights.codes.as<std::uint8_t>();
    matrix.scales = w.scaleCount ? weights.scales.as<float>() : nullptr;
    matrix.levels = levels_.as<float>();
    matrix.bits = w.bits, matrix.highFirst = w.order == plugin::CodeOrder::HighFirst;
    matrix.rows = w.rows, matrix.columns = w.columns, matrix.rowBytes = w.rowBytes;
    matrix.rowBlock = w.rowBlock, matrix.rowStride = w.rowStride;
    matrix.columnBlock = w.columnBlock, matrix.columnStride = w.columnStride;
    return matrix;
}

Measuring Product::measuring() const { return {measured_.as<float>(), partials_.as<double>(), totals_.as<double>()}; }

void Product::decode(const Weights& weights, void* to, Element type) const {
    check(dequantize(stored(weights), to, type, device_.stream), "dequantize");
}

void Product::run(std::uint32_t copy) {
    const Weights& w = copies_[copy % copies_.size()];
    const cudaStream_t stream = device_.stream;
    const Target to{y_.as<void>(), outBf16_, bias_.as<float>(), m_, n_};
    const Element xType = actBf16_ ? Element::Bf16 : Element::F32;
    switch (row_.path) {
    case Path::Skinny:
    case Path::Staged:
    case Path::Large: {
        const bool large = row_.path == Path::Large;
        if (!xIsPadded())
            check(
                padActivations(x_.as<void>(), xType, m_, k_, large ? mPadded_ : m_, depth_, padded_.as<void>(), stream),
                "pad x");
        const void* x = xIsPadded() ? x_.as<void>() : padded_.as<void>();
        const DeviceWeight weight =
            deviceWeight(shape_, w.codes.as<std::uint8_t>(), w.scales.as<float>(), levels_.as<float>());
        check(large ? largeProduct(weight, x, to, stream)
              : row_.path == Path::Staged
                  ? stagedProduct(weight, x, staged(), {sums_.as<float>(), finished_.as<std::uint32_t>()}, to, stream)
                  : skinnyProduct(weight, x, skinnyShape(m_, k_), to, stream),
              row_.id);
        return;
    }
    case Path::Integers:
        check(dynamic_ ? quantizeRows(x_.as<float>(), m_, k_, mPadded_, depth_, padded_.as<std::int8_t>(),
                                      xScale_.as<float>(), stream)
                       : padBytes(x_.as<std::int8_t>(), m_, k_, mPadded_, depth_, padded_.as<std::int8_t>(), stream),
              "quantize x");
        device_.blas.multiplyBytes(bytes_, padded_.as<void>(), w.codes.as<void>(), sums_.as<void>());
        check(finishIntegers(sums_.as<std::int32_t>(), nPadded_, xScale_.as<float>(), w.scales.as<float>(), to, stream),
              "scale");
        return;
    case Path::E4m3:
        check(quantizeRowsE4m3(x_.as<float>(), m_, k_, mPadded_, depth_, padded_.as<std::uint8_t>(),
                               xScale_.as<float>(), stream),
              "quantize x");
        if (bytes_.scaled)
            return device_.blas.multiplyBytes(bytes_, padded_.as<void>(), w.codes.as<void>(), y_.as<void>(),
                                              w.scales.as<float>());
        device_.blas.multiplyBytes(bytes_, padded_.as<void>(), w.codes.as<void>(), sums_.as<void>());
        check(finishScaled(sums_.as<float>(), nPadded_, xScale_.as<float>(), w.scales.as<float>(), to, stream),
              "scale");
        return;
    case Path::Dequantize: return decode(w, y_.as<void>(), outBf16_ ? Element::Bf16 : Element::F32);
    case Path::Quantize: {
        const plugin::WeightLayout& format = plan_.weight;
        const std::int64_t group = format.columnStride ? format.columnBlock : k_;
        check(format.isSignedBytes() ? quantizeInt8(w.codes.as<float>(), n_, k_, group, y_.as<std::int8_t>(),
                                                    yScale_.as<float>(), stream, measuring())
                                     : quantizeNf4(w.codes.as<float>(), n_, k_, group, levels_.as<float>(),
                                                   y_.as<std::uint8_t>(), yScale_.as<float>(), stream, measuring()),
              "quantize");
        return;
    }
    case Path::QuantizeBySearch: {
        const Coding coding = plan_.coder->on(levels_.as<std::uint32_t>(), stored_.as<std::uint8_t>());
        check(quantizeBySearch(w.codes.as<float>(), n_, k_, plan_.coder->group, coding, y_.as<std::uint8_t>(),
                               yScale_.bytes() ? yScale_.as<float>() : nullptr, stream, measuring()),
              "quantize");
        return;
    }
    case Path::QuantizeActivations:
        check(quantizeRows(x_.as<float>(), m_, k_, m_, k_, y_.as<std::int8_t>(), yScale_.as<float>(), stream),
              "quantize x");
        return;
    default: break;
    }
    // All other paths are products of cuBLAS.
    const void* x = x_.as<void>();
    if (row_.path != Path::F32 && !actBf16_) {
        check(padActivations(x, Element::F32, m_, k_, m_, k_, padded_.as<void>(), stream), "round x");
        x = padded_.as<void>();
    }
    const void* dense = w.codes.as<void>();
    if (row_.path == Path::DequantizedInRun) {
        decode(w, dense_.as<void>(), Element::Bf16);
        dense = dense_.as<void>();
    }
    float* sums = sums_.bytes() ? sums_.as<float>() : y_.as<float>();
    device_.blas.product(m_, n_, k_, x, dense, row_.path == Path::F32 ? CUDA_R_32F : CUDA_R_16BF, kn_, sums);
    if (sums_.bytes()) check(finishFloats(sums, to, stream), "finish");
}

void Product::download(qs_tensor* const* outs, std::uint32_t count, bool withScales) const {
    const char* type = row_.path == Path::Quantize || row_.path == Path::QuantizeBySearch ? plan_.weight.dtype
                       : row_.path == Path::QuantizeActivations                           ? "i8"
                       : outBf16_                                                         ? "bf16"
                                                                                          : "f32";
    check(cudaStreamSynchronize(device_.stream), row_.id);
    y_.toHost(plugin::output(outs, count, "out", type, yBytes_), yBytes_);
    if (!withScales) return;
    if (yScale_.bytes())
        yScale_.toHost(plugin::output(outs, count, "out_scale", "f32", yScale_.bytes()), yScale_.bytes());
    if (totals_.bytes())
        totals_.toHost(plugin::output(outs, count, "out_sums", "f64", totals_.bytes()), totals_.bytes());
}

} // namespace qs::cuda
