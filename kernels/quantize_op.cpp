// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/quantize_op.h"

#include "kernels/group_statistics.h"
#include "kernels/matmul_operands.h"

#include <array>
#include <atomic>

namespace qs {
namespace {

std::size_t blocksOf(std::size_t cols, std::size_t block) { return (cols + block - 1) / block; }

ScaleKind scaleKindOf(const WeightFormat& w) {
    if (w.scale == NumberType::None) return ScaleKind::None;
    if (w.blockAxis >= 0) return ScaleKind::Block;
    return w.channelAxis >= 0 ? ScaleKind::Axes : ScaleKind::Tensor;
}

/// The first calibration that the format lists for this scale kind. A spec without calib uses the same.
GroupStatistic statisticOf(const FormatTraits& format, ScaleKind kind) {
    return kind == ScaleKind::None ? format.unscaledBy : format.scaledBy;
}

/// The stored integer or byte of a code. It may not fit the bits; whyNotCodes() checks that.
int storedCode(const FormatTraits& format, const WeightFormat& w, std::size_t code) {
    if (format.kind == FormatKind::Float) return format.bytes[code];
    return w.levels.empty() ? int(format.levels[code]) - w.codeBias : int(code);
}

/// Packs codes of `bits` bits into bytes, the first code in the lowest bits.
template<int bits> void packRow(const std::uint8_t* codes, std::size_t bytes, std::uint8_t* out) {
    constexpr std::size_t perByte = 8 / bits;
    for (std::size_t i = 0; i < bytes; ++i, codes += perByte) {
        unsigned byte = 0;
        for (std::size_t j = 0; j < perByte; ++j) byte |= unsigned(codes[j]) << (bits * int(j));
        out[i] = std::uint8_t(byte);
    }
}
void packHighFirst(const std::uint8_t* codes, std::size_t bytes, std::uint8_t* out) {
    for (std::size_t i = 0; i < bytes; ++i) out[i] = std::uint8_t(codes[2 * i] << 4 | codes[2 * i + 1]);
}

class Quantize final : public PreparedMatmul {
public:
    Quantize(const MatmulProblem& problem, const WeightOperand& operand, const KernelSet& kernels)
        : format_(*findFormat(problem.weight.id)), packing_(problem.weight.packing), bits_(problem.weight.bits),
          n_(problem.n), k_(problem.k), kind_(scaleKindOf(problem.weight)), kernels_(&kernels), source_(n_ * k_) {
        for (std::size_t r = 0; r < n_; ++r)
            std::memcpy(source_.data() + r * k_, static_cast<const char*>(operand.codes) + r * operand.rowBytes,
                        k_ * sizeof(float));
        if (format_.kind == FormatKind::Identity) return;
        for (std::size_t code = 0; code < format_.levels.size(); ++code)
            stored_[code] = std::uint8_t(storedCode(format_, problem.weight, code));
        signed_ = problem.weight.element == NumberType::I8;
        run_ = runFor(format_);
        run_.statistic = statisticOf(format_, kind_);
        run_.group = kind_ == ScaleKind::Block ? problem.weight.block : k_;
        shared_.columns = kind_ == ScaleKind::Axes && problem.weight.channelAxis == 1;
        shared_.group = kind_ == ScaleKind::Axes ? k_ : n_ * k_;
        shares_ = shared_.columns || kind_ == ScaleKind::None || kind_ == ScaleKind::Tensor ||
                  (kind_ == ScaleKind::Axes && k_ > kStatisticPiece);
        padded_ = format_.padsLastBlock && kind_ == ScaleKind::Block ? blocksOf(k_, run_.group) * run_.group : k_;
    }

    bool run(const MatmulInput&, const MatmulOutput& out, ThreadTeam& team, const StopRequest& stop) override {
        std::vector<GroupParams> params;
        if (shares_ && format_.kind != FormatKind::Identity) {
            if (!measureGroups(*kernels_, run_, source_.data(), n_, k_, shared_, team, stop, params)) return false;
            if (kind_ != ScaleKind::None)
                for (std::size_t i = 0; i < params.size(); ++i) static_cast<float*>(out.scale)[i] = params[i].scale;
        }
        std::atomic<bool> stopped{false};
        std::vector<Measured> measured(out.sums ? std::size_t(team.size()) : 0);
        team.run([&](int worker) {
            const auto [begin, end] = shareOf(n_, worker, team.size());
            Scratch scratch;
            for (std::size_t r = begin; r < end; ++r) {
                if (stopped || stop()) return stopped.store(true);
                row(r, params, out, scratch, measured.empty() ? nullptr : &measured[std::size_t(worker)]);
            }
        });
        if (!measured.empty()) total(measured, out.sums);
        return !stopped;
    }
    std::unique_ptr<PreparedMatmul> clone() const override { return std::make_unique<Quantize>(*this); }
    std::size_t weightBytes() const override { return source_.size() * sizeof(float); }
    std::vector<InnerLoop> innerLoops() const override {
        if (format_.kind == FormatKind::Identity) return {};
        const void* code = reinterpret_cast<const void*>(kernels_->quantize);
        if (!shares_ && format_.encoder == Encoder::NearestNf4)
            code = reinterpret_cast<const void*>(kernels_->quantizeNf4Packed);
        return {{"quantizes a row", code}};
    }

private:
    struct Scratch {
        std::vector<float> padded;
        std::vector<std::uint8_t> codes;
    };

    /// The measurements of one worker thread. Aligned so that workers do not share cache lines.
    struct alignas(128) Measured {
        ErrorSums sums;
        float top = 0;
    };
    static void total(const std::vector<Measured>& measured, double* to) {
        Measured all;
        for (const Measured& m : measured) all.sums.merge(m.sums), all.top = std::max(all.top, m.top);
        to[0] = all.sums.se2, to[1] = all.sums.sw2;
        to[2] = double(all.sums.maxAbs), to[3] = double(all.top);
    }

    void row(std::size_t r, const std::vector<GroupParams>& params, const MatmulOutput& out, Scratch& scratch,
             Measured* measured) const {
        const float* x = source_.data() + r * k_;
        if (measured) measured->top = std::max(measured->top, kernels_->absMax(x, k_, false));
        ErrorSums* const sums = measured ? &measured->sums : nullptr;
        auto* const bytes = static_cast<std::uint8_t*>(out.out);
        if (format_.kind == FormatKind::Identity) return convert(x, bytes + r * k_ * std::size_t(format_.bits) / 8);
        std::uint8_t* const at = bytes + r * ((padded_ * std::size_t(bits_) + 7) / 8);
        float* const scales = shares_ ? nullptr : static_cast<float*>(out.scale) + r * blocksOf(k_, run_.group);
        if (!shares_ && direct(x, at, scales, scratch, sums)) return;
        const std::size_t perByte = std::size_t(8 / bits_), stored = (padded_ + perByte - 1) / perByte * perByte;
        scratch.codes.resize(stored);
        Run run = run_;
        run.x = x, run.n = k_;
        RunOut to;
        to.codes = scratch.codes.data(), to.sums = sums;
        if (shares_) {
            run.given = params.data() + (kind_ == ScaleKind::Axes && !shared_.columns ? r : 0);
            run.givenStride = shared_.columns, run.group = shared_.columns ? 1 : k_;
        } else {
            to.scales = scales;
        }
        kernels_->quantize(run, to);
        for (std::size_t i = 0; i < k_; ++i) scratch.codes[i] = stored_[scratch.codes[i]];
        const std::size_t zero = std::size_t(std::max(0, format_.zeroCode));
        std::fill(scratch.codes.begin() + std::ptrdiff_t(k_), scratch.codes.end(), stored_[zero]);
        const std::size_t count = stored / perByte;
        switch (packing_) {
        case Packing::PairHiFirst: return packHighFirst(scratch.codes.data(), count, at);
        case Packing::PairLoFirst: return packRow<4>(scratch.codes.data(), count, at);
        case Packing::QuadLoFirst: return packRow<2>(scratch.codes.data(), count, at);
        case Packing::OctetLoFirst: return packRow<1>(scratch.codes.data(), count, at);
        default: std::memcpy(at, scratch.codes.data(), k_);
        }
    }

    void convert(const float* x, std::uint8_t* to) const {
        if (format_.encoder == Encoder::RoundF16)
            return kernels_->f32ToF16(x, k_, reinterpret_cast<std::uint16_t*>(to));
        if (format_.encoder == Encoder::RoundBf16)
            return kernels_->f32ToBf16(x, k_, reinterpret_cast<std::uint16_t*>(to));
        std::memcpy(to, x, k_ * sizeof(float));
    }

    /// Uses the functions that write the stored form directly, without one byte per code. Returns false if none of them
    /// fits.
    bool direct(const float* x, std::uint8_t* to, float* scales, Scratch& scratch, ErrorSums* sums) const {
        const std::size_t group = run_.group;
        if (format_.encoder == Encoder::NearestNf4 && packing_ == Packing::PairHiFirst) {
            if (padded_ != k_) {
                scratch.padded.assign(padded_, 0.0f);
                std::memcpy(scratch.padded.data(), x, k_ * sizeof(float));
                x = scratch.padded.data();
            }
            kernels_->quantizeNf4Packed(x, padded_, group, to, scales, sums);
            return true;
        }
        if (sums) return false; // the other functions do not measure
        if (format_.encoder == Encoder::RoundInteger && format_.levels.size() == 255 && signed_) {
            kernels_->quantizeInt8Stored(x, k_, group, reinterpret_cast<std::int8_t*>(to), scales);
            return true;
        }
        if (format_.encoder != Encoder::Threshold || packing_ != Packing::QuadLoFirst) return false;
        if (stored_[0] != 0 || (kind_ == ScaleKind::Block && group % 4)) return false;
        kernels_->quantizeTernaryPacked(x, k_, group, to, scales);
        for (std::size_t i = k_; i % 4; ++i) // fills the rest of the last byte with codes of 0
            to[i / 4] = std::uint8_t(to[i / 4] | stored_[std::size_t(format_.zeroCode)] << (i % 4 * 2));
        return true;
    }

    const FormatTraits& format_;
    Packing packing_;
    int bits_;
    std::size_t n_, k_, padded_ = 0;
    ScaleKind kind_;
    Run run_;
    SharedGroups shared_;
    bool shares_ = false; ///< the scales need a pass over more than one row
    bool signed_ = false;
    std::array<std::uint8_t, 256> stored_{};
    const KernelSet* kernels_;
    Aligned<float> source_;
};

const char* whyNotCodes(const FormatTraits& format, const WeightFormat& w) {
    if (w.packing == Packing::Planar) return "quantize does not write planes";
    if (format.kind == FormatKind::Float)
        return w.bits == 8 && w.packing == Packing::None ? nullptr : "small floats are stored as their bytes";
    if (!w.levels.empty() && w.levels.size() < format.levels.size())
        return "the codebook is shorter than the format's levels";
    const bool isSigned = w.element == NumberType::I8;
    const int least = isSigned ? -128 : 0, most = isSigned ? 127 : (1 << std::min(w.bits, 8)) - 1;
    for (std::size_t code = 0; code < format.levels.size(); ++code) {
        const int stored = storedCode(format, w, code);
        if (stored < least || stored > most) return "the format has levels that those bits do not reach";
        // The value of a code must be the level that was chosen for it, in one of the two decoders of the format.
        const bool poly = !w.levels.empty() && !format.polyLevels.empty() && w.levels[code] == format.polyLevels[code];
        if (!w.levels.empty() && w.levels[code] != format.levels[code] && !poly)
            return "quantize writes the format's own levels";
    }
    if (format.kind == FormatKind::Codebook && w.levels.empty()) return "the format needs its codebook";
    return nullptr;
}

} // namespace

const char* whyNotQuantized(const MatmulProblem& problem) {
    const WeightFormat& w = problem.weight;
    const FormatTraits* format = findFormat(w.id);
    if (!format) return "quantize knows the formats of the list only";
    if (problem.weightIsKn) return "quantize takes weights stored [N, K]";
    if (problem.measure) {
        if (format->kind == FormatKind::Identity) return "floats are not measured";
        if (!w.levels.empty() && !std::equal(format->levels.begin(), format->levels.end(), w.levels.begin()) &&
            format->kind != FormatKind::Float)
            return "the error is measured with the format's own levels";
    }
    if (format->kind == FormatKind::Identity)
        return w.scale == NumberType::None && w.packing == Packing::None ? nullptr : "floats have no scales";
    if (format->levels.empty() || format->codec) return "quantize writes codes and scales, not blocks of a codec";
    if (w.scale != NumberType::None && w.scale != NumberType::F32) return "quantize writes f32 scales";
    const ScaleKind kind = scaleKindOf(w);
    if (!(format->scaleKinds & std::uint8_t(kind))) return "the format does not have such scales";
    if (kind == ScaleKind::Block && w.blockAxis != 1) return "quantize writes blocks within rows";
    if (kind == ScaleKind::Block &&
        (w.block < format->minBlock || w.block > format->maxBlock || w.block % format->blockMultiple))
        return "the format does not have blocks of that size";
    return whyNotCodes(*format, w);
}

std::unique_ptr<PreparedMatmul> prepareQuantize(const MatmulProblem& problem, const WeightOperand& operand,
                                                const KernelSet& kernels) {
    return std::make_unique<Quantize>(problem, operand, kernels);
}

} // namespace qs
