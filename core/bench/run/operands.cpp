// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/bench/run/operands.h"

#include "core/base/parallel.h"
#include "kernels/small_float.h"

#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <fmt/format.h>

namespace qs {
namespace {

/// Dtypes that are not formats of weights.
constexpr std::array<std::pair<std::string_view, std::size_t>, 4> kOthers = {
    {{"i8", 1}, {"u8", 1}, {"i32", 4}, {"f64", 8}}};

/// The channels of x that are ten times larger.
std::vector<bool> outlierChannels(std::int64_t k, std::uint64_t seed) {
    std::vector<bool> out(std::size_t(k), false);
    bool any = false;
    for (std::size_t i = 0; i < out.size(); ++i) {
        out[i] = randomBits(seed, kOutlierStream, i) % 64 == 0;
        any |= out[i];
    }
    if (!any && k >= 32) out[randomBits(seed, kOutlierStream, std::uint64_t(k)) % std::uint64_t(k)] = true;
    return out;
}

/// The interface's rule: s = max|x| / 127 + FLT_MIN, q = round_half_even(x / s).
float quantizeRow(const float* x, std::size_t n, double* q) {
    float most = 0;
    for (std::size_t i = 0; i < n; ++i) most = std::max(most, std::fabs(x[i]));
    const float scale = most / 127.0f + FLT_MIN;
    for (std::size_t i = 0; i < n; ++i) q[i] = double(std::nearbyint(x[i] / scale));
    return scale;
}

/// The interface's rule: s = max|x| / 448, or 1 if that is 0; x / s within +-448 rounded to the nearest e4m3, ties to
/// even.
float quantizeRowE4m3(const float* x, std::size_t n, double* q) {
    constexpr double most = 448;
    constexpr int least = -6, mantissa = 3; // exponent of the smallest normal number
    float top = 0;
    for (std::size_t i = 0; i < n; ++i) top = std::max(top, std::fabs(x[i]));
    const float scale = top / 448.0f != 0 ? top / 448.0f : 1.0f;
    for (std::size_t i = 0; i < n; ++i) {
        const double v = std::clamp(double(x[i] / scale), -most, most);
        const double step = std::ldexp(1.0, std::max(v == 0 ? least : std::ilogb(v), least) - mantissa);
        q[i] = std::nearbyint(v / step) * step;
    }
    return scale;
}

Result<void> addActivations(Operands& out, const OperandRequest& request) {
    const auto rows = std::size_t(request.m), columns = std::size_t(request.k);
    auto tensor = makeHostTensor("act", request.act->dtype, {request.m, request.k});
    if (!tensor) return tl::unexpected(tensor.error());
    const auto outliers = outlierChannels(request.k, request.seed);
    const bool half = tensor->dtype == "bf16";
    out.x.resize(rows * columns);
    if (request.act->dynamic) out.xScale.resize(rows);
    const bool e4m3 = std::string_view(request.act->id) == "fp8_e4m3";
    const auto toRow = e4m3 ? quantizeRowE4m3 : quantizeRow;
    auto* floats = reinterpret_cast<float*>(tensor->data());
    auto* halves = reinterpret_cast<std::uint16_t*>(tensor->data());
    parallelFor(rows, 1, [&](std::size_t begin, std::size_t end, unsigned) {
        for (std::size_t r = begin; r < end; ++r) {
            for (std::size_t c = 0; c < columns; ++c) {
                const std::size_t i = r * columns + c;
                const float value = normalVariate(request.seed, kActStream, i) * (outliers[c] ? 10.0f : 1.0f);
                if (half)
                    halves[i] = f32ToBf16(value);
                else
                    floats[i] = value;
                out.x[i] = half ? double(bf16ToF32(halves[i])) : double(value);
            }
            if (request.act->dynamic) out.xScale[r] = toRow(floats + r * columns, columns, out.x.data() + r * columns);
        }
    });
    out.act.push_back(std::move(*tensor));
    out.problem.act = actFormat(*request.act);
    out.problem.dynamicAct = request.act->dynamic;
    return {};
}

Result<void> addBias(Operands& out, const OperandRequest& request) {
    auto tensor = makeHostTensor("bias", "f32", {request.n});
    if (!tensor) return tl::unexpected(tensor.error());
    for (std::int64_t i = 0; i < request.n; ++i)
        out.bias.push_back(normalVariate(request.seed, kBiasStream, std::uint64_t(i)));
    std::memcpy(tensor->data(), out.bias.data(), tensor->bytes);
    out.inputs.push_back(std::move(*tensor));
    out.problem.bias = true;
    return {};
}

/// The interface has no calibration, dialect, rounding or sparsity.
bool hasOwnRule(const QuantSpec& spec) {
    if (spec.randomSeed() || spec.sparsity) return false;
    QuantSpec plain = spec;
    plain.calibration.reset(), plain.dialect.reset();
    return plain.effectiveDialect() == spec.effectiveDialect() &&
           plain.effectiveCalibration() == spec.effectiveCalibration();
}

HostTensor shapeOnly(std::string role, std::string dtype, std::vector<std::int64_t> dims) {
    HostTensor out{std::move(role), std::move(dtype), std::move(dims), nullptr, 0, 0};
    out.bytes = dtypeBytes(out.dtype);
    for (const auto dim : out.dims) out.bytes *= std::uint64_t(dim);
    return out;
}

/// Computes the expected error sums of W.
void addSums(Operands& out) {
    const BenchWeights& w = *out.weights;
    const auto& values = *w.original;
    const bool scaled = w.quantized.grid.kind != ScaleKind::None && !w.quantized.scales.empty();
    double se2 = 0, sw2 = 0, most = 0, top = 0;
    for (std::int64_t row = 0; row < out.n; ++row)
        for (std::int64_t column = 0; column < out.k; ++column) {
            const auto at = std::size_t(row * out.k + column);
            const float scale = scaled ? w.quantized.scales[w.scaleIndex(row, column)] : 1.0f;
            const float v = w.levels.empty() ? w.quantized.values[at] : w.levels[w.quantized.codes[at]] * scale;
            const double e = double(v) - double(values[at]), x = double(values[at]);
            se2 += e * e, sw2 += x * x;
            most = std::max(most, std::fabs(e)), top = std::max(top, std::fabs(x));
        }
    out.sums = {se2, sw2, most, top};
    out.outs.push_back(shapeOnly("out_sums", "f64", {4}));
}

} // namespace

std::size_t dtypeBytes(std::string_view dtype) {
    for (const auto& [id, bytes] : kOthers)
        if (id == dtype) return bytes;
    const auto* format = findFormat(dtype);
    const bool isFloat = format && (format->kind == FormatKind::Identity || format->kind == FormatKind::Float);
    return isFloat ? std::size_t(format->bits) / 8 : 0;
}

OperandFormat actFormat(const BenchAct& act) {
    OperandFormat format;
    format.format = act.dynamic ? act.id : act.dtype;
    format.bits = act.dynamic ? 8 : std::uint32_t(8 * dtypeBytes(act.dtype));
    if (act.dynamic) format.scaleDtype = "f32", format.channelAxis = 0;
    return format;
}

Result<HostTensor> makeHostTensor(std::string role, std::string dtype, std::vector<std::int64_t> dims) {
    HostTensor out = shapeOnly(std::move(role), std::move(dtype), std::move(dims));
    auto buffer = SharedBuffer::create(out.bytes);
    if (!buffer) return tl::unexpected(buffer.error());
    out.buffer = std::move(*buffer);
    return out;
}

Result<Operands> makeOperands(const OperandRequest& request, std::shared_ptr<const BenchWeights> weights) {
    Operands out;
    out.m = request.op->product ? request.m : 1;
    out.n = request.n;
    out.k = request.k;
    out.problem.op = request.op->abiOp;
    out.problem.m = out.m;
    out.problem.n = request.n;
    out.problem.k = request.k;
    out.problem.wIsKn = request.op->wIsKn;
    out.problem.weight = weights->format;
    out.weights = std::move(weights);
    if (request.op->product) {
        out.inputs = out.weights->inputs;
        if (auto done = addActivations(out, request); !done) return tl::unexpected(done.error());
        if (request.bias)
            if (auto done = addBias(out, request); !done) return tl::unexpected(done.error());
        out.outs.push_back(shapeOnly("out", "f32", {request.m, request.n}));
    } else if (std::string_view(request.op->abiOp) == "dequantize") {
        out.inputs = out.weights->inputs;
        out.outs.push_back(shapeOnly("out", "f32", {request.n, request.k}));
    } else if (const auto& spec = out.weights->quantized.spec; !hasOwnRule(spec)) {
        return fail(fmt::format(
            "quantize as an operation uses the format's own calibration, dialect and rounding, not those of {}",
            specText(spec)));
    } else {
        auto source = makeHostTensor("source", "f32", {request.n, request.k});
        if (!source) return tl::unexpected(source.error());
        std::memcpy(source->data(), out.weights->original->data(), source->bytes);
        out.inputs.push_back(std::move(*source));
        for (const auto& tensor : out.weights->inputs)
            out.outs.push_back(shapeOnly(tensor.role == "scale" ? "out_scale" : "out", tensor.dtype, tensor.dims));
        if (std::string_view(request.op->abiOp) == "quantize_stats") addSums(out);
    }
    return out;
}

} // namespace qs
