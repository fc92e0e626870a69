// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/layouts/slabs.h"

#include "core/base/lanes.h"
#include "core/quant/spec/scale_type.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace qs {
namespace {

constexpr std::uint64_t kSlabBytes = std::uint64_t(8) << 20;

} // namespace

void SlabScales::begin(const MeasuredTensor& tensor, const TensorPass& pass) {
    active_ = !takers_.empty() && pass.measuresInOrder() && tensor.grid().group > 1;
}

void SlabScales::beginSlab(const TensorPass& pass, std::uint64_t firstUnit, std::uint64_t lastUnit) {
    if (!active_) return;
    first_ = pass.groupOf(pass.unitBegin(firstUnit));
    params_.assign(std::size_t(pass.groupOf(pass.unitBegin(lastUnit)) - first_), {});
}

Result<void> SlabScales::endSlab() const {
    if (!active_) return {};
    for (const TakeScales& take : takers_)
        if (auto taken = take(params_); !taken) return taken;
    return {};
}

class SlabStream {
public:
    static Result<void> run(MeasuredTensor& tensor, const SlabCoder& coder, SlabScales& scales,
                            const TensorToWrite::Sink& sink) {
        const auto made = tensor.pass();
        if (!made) return tl::unexpected(made.error());
        const TensorPass& pass = **made;
        auto encoders = tensor.encoders();
        scales.begin(tensor, pass);
        std::vector<std::byte> slab;
        std::byte carried{}; // bits of the byte that the next slab goes on with
        for (std::uint64_t first = 0, last = 0; first < pass.units(); first = last) {
            const std::uint64_t begin = coder.place(pass.unitBegin(first));
            do ++last;
            while (last < pass.units() && coder.place(pass.unitBegin(last)) - begin < kSlabBytes);
            const auto whole = std::size_t(coder.place(pass.unitBegin(last)) - begin);
            if (coder.bitwise)
                slab.assign(whole + 2, std::byte{}), slab[0] = carried;
            else
                slab.resize(whole);
            scales.beginSlab(pass, first, last);
            const auto done = pass.run(first, last, tensor.job(), [&](const PassRange& range) {
                encode(coder, range, encoders[range.worker], scales.of(range),
                       slab.data() + (coder.place(range.begin) - begin));
            });
            if (!done) return done;
            if (coder.bitwise) carried = slab[whole];
            if (whole > 0)
                if (auto written = sink(std::span(slab).first(whole)); !written) return written;
            if (auto taken = scales.endSlab(); !taken) return taken;
        }
        return {};
    }

private:
    static void encode(const SlabCoder& coder, const PassRange& range, RunEncoder& encoder, GroupParams* scales,
                       std::byte* at) {
        if (coder.encodeAndScale) return coder.encodeAndScale(range, encoder, scales, at);
        if (!scales) return coder.encode(range, encoder, at);
        PassRange measured = range;
        encoder.params(range.run, scales);
        measured.run.given = scales, measured.run.givenStride = 1;
        coder.encode(measured, encoder, at);
    }
};

Result<void> streamSlabs(MeasuredTensor& tensor, const SlabCoder& coder, SlabScales& scales,
                         const TensorToWrite::Sink& sink) {
    return SlabStream::run(tensor, coder, scales, sink);
}

std::span<std::uint8_t> codesOf(const PassRange& range, RunEncoder& encode) {
    thread_local std::vector<std::uint8_t> codes;
    codes.resize(range.n);
    RunOut out;
    out.codes = codes.data();
    encode(range.run, out);
    return codes;
}

void moveCodes(std::uint8_t* codes, std::size_t n, int offset) {
    if (offset == 0) return;
    std::size_t i = 0;
    for (ByteLanes lanes; i + kLanes <= n; i += kLanes)
        load(lanes, codes + i), lanes += std::uint8_t(offset), store(lanes, codes + i);
    for (; i < n; ++i) codes[i] = std::uint8_t(codes[i] + offset);
}

void appendAs(DType dtype, const float* values, std::size_t n, std::byte* at) {
    const KernelSet& kernels = bestKernels();
    if (dtype == DType::F16 || dtype == DType::BF16) {
        std::uint16_t halves[1024];
        for (std::size_t done = 0; done < n;) {
            const std::size_t part = std::min(n - done, std::size(halves));
            (dtype == DType::F16 ? kernels.f32ToF16 : kernels.f32ToBf16)(values + done, part, halves);
            std::memcpy(at + 2 * done, halves, 2 * part);
            done += part;
        }
    } else if (dtype == DType::F64) {
        for (std::size_t i = 0; i < n; ++i) {
            const double wide = double(values[i]);
            std::memcpy(at + 8 * i, &wide, 8);
        }
    } else {
        std::memcpy(at, values, 4 * n);
    }
}

std::size_t appendFinite(DType dtype, const float* values, std::size_t n, std::byte* at) {
    const bool isHalf = dtype == DType::F16 || dtype == DType::BF16;
    if (!isHalf || bestKernels().absMax(values, n, true) <= largestOf(dtype)) return appendAs(dtype, values, n, at), 0;
    std::vector<float> held(values, values + n);
    const float most = largestOf(dtype);
    std::size_t beyond = 0;
    for (float& value : held)
        if (std::isfinite(value) && std::fabs(value) > most) value = std::copysign(most, value), ++beyond;
    appendAs(dtype, held.data(), n, at);
    return beyond;
}

} // namespace qs
