// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A backend that computes only from the description in the interface, with faults on request. Its times are invented.

#include "core/bench/run/benchmark.h"
#include "plugins/abi/quantscope_backend.h"

#include <cfloat>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <set>

namespace benchtest {

using namespace qs;

enum class Fault {
    None,
    OneUlp,
    OneElement,
    NotANumber,
    ShortWrite,
    Overrun,
    LastOut,
    TooFast,
    CrashInBench,
    CrashInPrepare,
    FailInBench,
    DeclineTails,
    TailsWrong,
    Folded,      ///< reports that its weights became constants
    OtherLevels, ///< decodes by the codebook instead of the levels it reported
    NotTiming
};

/// What a test can read of a fake after the run.
struct Seen {
    std::vector<std::string> order; ///< "a.v1" for each bench call
    int benchCalls = 0, executed = 0, prepared = 0, destroyed = 0;
    std::vector<RunOptions> options;
    std::set<std::uint64_t> roofMemory; ///< memory limits passed to roof()
    int alive = 0, mostAlive = 0;       ///< number of kernels
};

struct FakeVariant {
    Variant variant;
    Fault fault = Fault::None;
    double ns = 1e6;
};

inline float bfloat(std::uint16_t bits) {
    const std::uint32_t wide = std::uint32_t(bits) << 16;
    float out;
    std::memcpy(&out, &wide, 4);
    return out;
}

class FakeBackend : public Backend {
public:
    std::string name = "fake";
    std::vector<FakeVariant> variants;
    Seen* seen = nullptr;
    int deviceKind = QS_DEVICE_CPU;
    bool hasRoofs = true;
    std::string only;     ///< the only format it accepts; empty: all
    std::string declines; ///< if set, every query is declined with this reason
    double readRoof = 1e11, computeRoof = 1e13;
    std::vector<double> probeFactors; ///< factors for the read roof: one per call, then 1
    double cacheRoof = 1e13;          ///< 0: not measured
    int slowRoofs = 0;                ///< so many times the compute roof is measured at a tenth, as with other load

    Outcome<std::string> describe() override { return "{\"plugin\": \"fake\"}"; }
    Outcome<std::vector<DeviceInfo>> devices() override {
        return std::vector<DeviceInfo>{{"fake:0", "Fake", "none", deviceKind, 0, name == "cpu"}};
    }
    Outcome<RoofSamples> roof(std::uint32_t, const std::string& kind, const RunOptions& asked) override {
        seen->roofMemory.insert(asked.memoryBytes);
        if (!hasRoofs || (kind == "cache_bw" && cacheRoof <= 0))
            return tl::unexpected(Failure{RowState::Declined, "no roofs here"});
        RoofSamples out;
        double rate = kind == "read_bw" ? readRoof : kind == "cache_bw" ? cacheRoof : computeRoof;
        if (kind == "f32" && slowRoofs > 0) --slowRoofs, rate /= 10;
        if (kind == "read_bw" && roofCalls_++ > 0 && !probeFactors.empty()) {
            rate *= probeFactors.front();
            probeFactors.erase(probeFactors.begin());
        }
        out.ns = {1000000};
        out.clock = QS_CLOCK_HOST;
        out.timingValid = true;
        out.work = rate * 1e-3;
        return out;
    }
    Outcome<Support> query(std::uint32_t, const Problem& problem) override {
        Support out;
        if (!declines.empty() || (!only.empty() && problem.weight->format != only)) {
            out.reason = declines.empty() ? "only " + only : declines;
            return out;
        }
        out.level = QS_SUPPORT_NATIVE;
        for (const auto& v : variants)
            if (v.fault != Fault::DeclineTails || problem.n > 200) out.variants.push_back(v.variant);
        return out;
    }
    Outcome<PreparedKernel> prepare(std::uint32_t, const Problem& problem, const std::string& variant,
                                    std::span<const HostTensor> inputs) override {
        const auto* v = find(variant);
        if (v->fault == Fault::CrashInPrepare)
            return tl::unexpected(Failure{RowState::Crashed, "crashed in prepare (SIGSEGV)"});
        ++seen->prepared;
        seen->mostAlive = std::max(seen->mostAlive, ++seen->alive);
        kernels_[++last_] = {problem, {inputs.begin(), inputs.end()}, v, {}};
        if (!v->variant.levels.empty() && v->fault != Fault::OtherLevels)
            kernels_[last_].problem.weight->codebook = v->variant.levels;
        PreparedKernel out;
        out.handle = last_;
        out.info.prepareNs = 5e5;
        if (v->fault == Fault::Folded) out.info.fusion = QS_FUSION_FOLDED;
        return out;
    }
    Outcome<void> execute(std::uint64_t kernel, std::span<const HostTensor> act,
                          std::span<const HostTensor> outs) override {
        if (deviceKind == QS_DEVICE_COMPILE_ONLY) return tl::unexpected(Failure{RowState::Declined, "no device"});
        ++seen->executed;
        const auto& k = kernels_.at(kernel);
        compute(k, act, outs, k.variant->fault == Fault::LastOut ? Fault::None : k.variant->fault);
        return {};
    }
    Outcome<RunSamples> bench(std::uint64_t kernel, std::span<const HostTensor> act, const RunOptions& options,
                              const HostTensor* lastOut) override {
        const auto& k = kernels_.at(kernel);
        ++seen->benchCalls;
        seen->order.push_back(name + "." + k.variant->variant.id);
        seen->options.push_back(options);
        const Fault fault = k.variant->fault;
        if (fault == Fault::CrashInBench && seen->benchCalls > 2)
            return tl::unexpected(Failure{RowState::Crashed, "crashed in bench (SIGABRT)"});
        if (fault == Fault::FailInBench) return tl::unexpected(Failure{RowState::Failed, "out of memory in bench"});
        RunSamples out;
        const double ns = fault == Fault::TooFast ? 10 : k.variant->ns;
        for (std::uint32_t i = 0; i < options.iterations; ++i)
            out.ns.push_back(std::uint64_t(ns * (1 + 0.001 * double(count_++ % 5))));
        out.clock = QS_CLOCK_HOST;
        out.timingValid = fault != Fault::NotTiming;
        if (lastOut) compute(k, act, std::span(lastOut, 1), fault == Fault::LastOut ? Fault::OneElement : fault);
        return out;
    }
    Outcome<std::optional<std::string>> artifact(std::uint64_t, const std::string& what) override {
        if (what == "source") return std::optional<std::string>("for (;;) ;");
        return std::optional<std::string>();
    }
    void destroy(std::uint64_t kernel) override {
        ++seen->destroyed;
        --seen->alive;
        kernels_.erase(kernel);
    }
    void cancel() override {}

private:
    struct Kernel {
        Problem problem;
        std::vector<HostTensor> inputs;
        const FakeVariant* variant = nullptr;
        mutable std::vector<float> result; ///< the correct result; the activations do not change
    };
    const FakeVariant* find(const std::string& id) const {
        for (const auto& v : variants)
            if (v.variant.id == id) return &v;
        return nullptr;
    }
    static const HostTensor* role(std::span<const HostTensor> tensors, const char* name) {
        for (const auto& t : tensors)
            if (t.role == name) return &t;
        return nullptr;
    }

public:
    /// Element (row, column) of the stored weight, decoded from the description in the interface.
    static double weightAt(const Problem& problem, std::span<const HostTensor> inputs, std::int64_t row,
                           std::int64_t column, std::int64_t columns) {
        const OperandFormat& f = *problem.weight;
        const HostTensor& w = *role(inputs, "weight");
        const auto* bytes = reinterpret_cast<const std::uint8_t*>(w.data());
        const std::int64_t stride = w.dims[1];
        if (f.format == "f32") return double(reinterpret_cast<const float*>(bytes)[row * columns + column]);
        if (f.format == "bf16")
            return double(bfloat(reinterpret_cast<const std::uint16_t*>(bytes)[row * columns + column]));
        const auto byte = [&](std::int64_t at) { return unsigned(bytes[row * stride + at]); };
        int code = 0;
        if (f.packing == "none")
            code = reinterpret_cast<const std::int8_t*>(bytes)[row * stride + column];
        else if (f.packing == "pair_hi_first")
            code = int(byte(column / 2) >> (column % 2 ? 0 : 4) & 15);
        else if (f.packing == "pair_lo_first")
            code = int(byte(column / 2) >> (column % 2 ? 4 : 0) & 15);
        else if (f.packing == "quad_lo_first")
            code = int(byte(column / 4) >> (2 * (column % 4)) & 3);
        else
            code = int(byte(column / 8) >> (column % 8) & 1);
        if (f.format.starts_with("fp8_")) return smallFloat(f.format, byte(column)) * scaleAt(f, inputs, row, column);
        const double level = f.codebook.empty() ? double(code + f.codeBias) : double(f.codebook[std::size_t(code)]);
        return level * scaleAt(f, inputs, row, column);
    }

    static double scaleAt(const OperandFormat& f, std::span<const HostTensor> inputs, std::int64_t row,
                          std::int64_t column) {
        if (f.scaleDtype == "none") return 1;
        const HostTensor& s = *role(inputs, "scale");
        const auto* scales = reinterpret_cast<const float*>(s.data());
        std::int64_t at = 0;
        if (f.block)
            at = row * s.dims[1] + column / std::int64_t(f.block);
        else if (f.channelAxis >= 0)
            at = f.channelAxis == 0 ? row : column;
        return double(scales[at]);
    }

    /// Decodes for example "fp8_e4m3fnuz": numbers of exponent and mantissa bits; fnuz adds one to the bias.
    static double smallFloat(const std::string& format, unsigned byte) {
        const int exponentBits = format[5] - '0', mantissaBits = format[7] - '0';
        const int bias = (1 << (exponentBits - 1)) - (format.ends_with("fnuz") ? 0 : 1);
        const int exponent = int(byte >> mantissaBits & ((1u << exponentBits) - 1));
        const double fraction = std::ldexp(double(byte & ((1u << mantissaBits) - 1)), -mantissaBits);
        const double size = exponent ? std::ldexp(1 + fraction, exponent - bias) : std::ldexp(fraction, 1 - bias);
        return byte & 128 ? -size : size;
    }

private:
    static void compute(const Kernel& k, std::span<const HostTensor> act, std::span<const HostTensor> outs,
                        Fault fault) {
        const Problem& p = k.problem;
        auto* y = reinterpret_cast<float*>(outs[0].data());
        if (!k.result.empty()) {
            std::copy(k.result.begin(), k.result.end(), y);
            return spoil(y, std::int64_t(k.result.size()), p, fault);
        }
        if (p.op == "dequantize") {
            for (std::int64_t n = 0; n < p.n; ++n)
                for (std::int64_t c = 0; c < p.k; ++c) y[n * p.k + c] = float(weightAt(p, k.inputs, n, c, p.k));
            k.result.assign(y, y + p.n * p.k);
            return spoil(y, p.n * p.k, p, fault);
        }
        const std::int64_t columns = p.wIsKn ? p.n : p.k;
        std::vector<double> x(std::size_t(p.m * p.k)), scale(std::size_t(p.m), 1.0);
        for (std::int64_t i = 0; i < p.m * p.k; ++i)
            x[std::size_t(i)] = p.act->format == "bf16"
                                    ? double(bfloat(reinterpret_cast<const std::uint16_t*>(act[0].data())[i]))
                                    : double(reinterpret_cast<const float*>(act[0].data())[i]);
        if (p.dynamicAct)
            for (std::int64_t m = 0; m < p.m; ++m) {
                float most = 0;
                for (std::int64_t c = 0; c < p.k; ++c)
                    most = std::max(most, std::fabs(float(x[std::size_t(m * p.k + c)])));
                const float s = most / 127 + FLT_MIN;
                scale[std::size_t(m)] = double(s);
                for (std::int64_t c = 0; c < p.k; ++c) {
                    double& v = x[std::size_t(m * p.k + c)];
                    v = std::nearbyint(float(v) / s);
                }
            }
        const HostTensor* bias = role(k.inputs, "bias");
        for (std::int64_t m = 0; m < p.m; ++m)
            for (std::int64_t n = 0; n < p.n; ++n) {
                double sum = 0;
                for (std::int64_t c = 0; c < p.k; ++c)
                    sum += x[std::size_t(m * p.k + c)] *
                           (p.wIsKn ? weightAt(p, k.inputs, c, n, columns) : weightAt(p, k.inputs, n, c, columns));
                sum *= scale[std::size_t(m)];
                if (bias) sum += double(reinterpret_cast<const float*>(bias->data())[n]);
                y[m * p.n + n] = float(sum);
            }
        k.result.assign(y, y + p.m * p.n);
        spoil(y, p.m * p.n, p, fault);
    }
    static void spoil(float* y, std::int64_t count, const Problem& p, Fault fault) {
        const std::int64_t at = count / 2;
        switch (fault) {
        case Fault::OneUlp: y[at] = std::nextafter(y[at], std::numeric_limits<float>::infinity()); break;
        case Fault::OneElement: y[at] = y[at] * 1.5f + 0.1f; break;
        case Fault::TailsWrong:
            if (p.n < 200) y[at] += 1;
            break;
        case Fault::NotANumber: y[at] = std::numeric_limits<float>::quiet_NaN(); break;
        case Fault::ShortWrite: {
            const std::uint32_t before = 0x7fc0dead; // as if it had never been written
            std::memcpy(y + count - 1, &before, 4);
            break;
        }
        case Fault::Overrun: y[count] = 0; break;
        default: break;
        }
    }
    std::map<std::uint64_t, Kernel> kernels_;
    std::uint64_t last_ = 0;
    int roofCalls_ = 0, count_ = 0;
};

} // namespace benchtest
