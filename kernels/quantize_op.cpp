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

/// As `quantize` of a spec without calib takes it.
GroupStatistic statisticOf(const FormatTraits& format, ScaleKind kind) {
    return kind == ScaleKind::None ? format.unscaledBy : format.scaledBy;
}

/// What is stored for a code; may not fit the bits.
int storedCode(const FormatTraits& format, const WeightFormat& w, std::size_t code) {
    if (format.kind == FormatKind::Float) return format.bytes[code];
    return w.levels.empty() ? int(format.levels[code]) - w.codeBias : int(code);
}

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
        : m_format(*findFormat(problem.weight.id)), m_packing(problem.weight.packing), m_bits(problem.weight.bits),
          m_n(problem.n), m_k(problem.k), m_kind(scaleKindOf(problem.weight)), m_kernels(&kernels),
          m_source(m_n * m_k) {
        for (std::size_t r = 0; r < m_n; ++r)
            std::memcpy(m_source.data() + r * m_k, static_cast<const char*>(operand.codes) + r * operand.rowBytes,
                        m_k * sizeof(float));
        if (m_format.kind == FormatKind::Identity) return;
        for (std::size_t code = 0; code < m_format.levels.size(); ++code)
            m_stored[code] = std::uint8_t(storedCode(m_format, problem.weight, code));
        m_signed = problem.weight.element == NumberType::I8;
        m_run = runFor(m_format);
        m_run.statistic = statisticOf(m_format, m_kind);
        m_run.group = m_kind == ScaleKind::Block ? problem.weight.block : m_k;
        m_shared.columns = m_kind == ScaleKind::Axes && problem.weight.channelAxis == 1;
        m_shared.group = m_kind == ScaleKind::Axes ? m_k : m_n * m_k;
        m_shares = m_shared.columns || m_kind == ScaleKind::None || m_kind == ScaleKind::Tensor ||
                   (m_kind == ScaleKind::Axes && m_k > kStatisticPiece);
        m_padded =
            m_format.padsLastBlock && m_kind == ScaleKind::Block ? blocksOf(m_k, m_run.group) * m_run.group : m_k;
    }

    bool run(const MatmulInput&, const MatmulOutput& out, ThreadTeam& team, const StopRequest& stop) override {
        std::vector<GroupParams> params;
        if (m_shares && m_format.kind != FormatKind::Identity) {
            if (!measureGroups(*m_kernels, m_run, m_source.data(), m_n, m_k, m_shared, team, stop, params))
                return false;
            if (m_kind != ScaleKind::None)
                for (std::size_t i = 0; i < params.size(); ++i) static_cast<float*>(out.scale)[i] = params[i].scale;
        }
        std::atomic<bool> stopped{false};
        std::vector<Measured> measured(out.sums ? std::size_t(team.size()) : 0);
        team.run([&](int worker) {
            const auto [begin, end] = shareOf(m_n, worker, team.size());
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
    std::size_t weightBytes() const override { return m_source.size() * sizeof(float); }
    std::vector<InnerLoop> innerLoops() const override {
        if (m_format.kind == FormatKind::Identity) return {};
        const void* code = reinterpret_cast<const void*>(m_kernels->quantize);
        if (!m_shares && m_format.encoder == Encoder::NearestNf4)
            code = reinterpret_cast<const void*>(m_kernels->quantizeNf4Packed);
        return {{"quantizes a row", code}};
    }

private:
    struct Scratch {
        std::vector<float> padded;
        std::vector<std::uint8_t> codes;
    };

    /// Of one worker.
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
        const float* x = m_source.data() + r * m_k;
        if (measured) measured->top = std::max(measured->top, m_kernels->absMax(x, m_k, false));
        ErrorSums* const sums = measured ? &measured->sums : nullptr;
        auto* const bytes = static_cast<std::uint8_t*>(out.out);
        if (m_format.kind == FormatKind::Identity) return convert(x, bytes + r * m_k * std::size_t(m_format.bits) / 8);
        std::uint8_t* const at = bytes + r * ((m_padded * std::size_t(m_bits) + 7) / 8);
        float* const scales = m_shares ? nullptr : static_cast<float*>(out.scale) + r * blocksOf(m_k, m_run.group);
        if (!m_shares && direct(x, at, scales, scratch, sums)) return;
        const std::size_t perByte = std::size_t(8 / m_bits), stored = (m_padded + perByte - 1) / perByte * perByte;
        scratch.codes.resize(stored);
        Run run = m_run;
        run.x = x, run.n = m_k;
        RunOut to;
        to.codes = scratch.codes.data(), to.sums = sums;
        if (m_shares) {
            run.given = params.data() + (m_kind == ScaleKind::Axes && !m_shared.columns ? r : 0);
            run.givenStride = m_shared.columns, run.group = m_shared.columns ? 1 : m_k;
        } else {
            to.scales = scales;
        }
        m_kernels->quantize(run, to);
        for (std::size_t i = 0; i < m_k; ++i) scratch.codes[i] = m_stored[scratch.codes[i]];
        const std::size_t zero = std::size_t(std::max(0, m_format.zeroCode));
        std::fill(scratch.codes.begin() + std::ptrdiff_t(m_k), scratch.codes.end(), m_stored[zero]);
        const std::size_t count = stored / perByte;
        switch (m_packing) {
        case Packing::PairHiFirst: return packHighFirst(scratch.codes.data(), count, at);
        case Packing::PairLoFirst: return packRow<4>(scratch.codes.data(), count, at);
        case Packing::QuadLoFirst: return packRow<2>(scratch.codes.data(), count, at);
        case Packing::OctetLoFirst: return packRow<1>(scratch.codes.data(), count, at);
        default: std::memcpy(at, scratch.codes.data(), m_k);
        }
    }

    void convert(const float* x, std::uint8_t* to) const {
        if (m_format.encoder == Encoder::RoundF16)
            return m_kernels->f32ToF16(x, m_k, reinterpret_cast<std::uint16_t*>(to));
        if (m_format.encoder == Encoder::RoundBf16)
            return m_kernels->f32ToBf16(x, m_k, reinterpret_cast<std::uint16_t*>(to));
        std::memcpy(to, x, m_k * sizeof(float));
    }

    /// The coders that write what is stored without codes of a byte in between.
    bool direct(const float* x, std::uint8_t* to, float* scales, Scratch& scratch, ErrorSums* sums) const {
        const std::size_t group = m_run.group;
        if (m_format.encoder == Encoder::NearestNf4 && m_packing == Packing::PairHiFirst) {
            if (m_padded != m_k) {
                scratch.padded.assign(m_padded, 0.0f);
                std::memcpy(scratch.padded.data(), x, m_k * sizeof(float));
                x = scratch.padded.data();
            }
            m_kernels->quantizeNf4Packed(x, m_padded, group, to, scales, sums);
            return true;
        }
        if (sums) return false; // the others do not take them along
        if (m_format.encoder == Encoder::RoundInteger && m_format.levels.size() == 255 && m_signed) {
            m_kernels->quantizeInt8Stored(x, m_k, group, reinterpret_cast<std::int8_t*>(to), scales);
            return true;
        }
        if (m_format.encoder != Encoder::Threshold || m_packing != Packing::QuadLoFirst) return false;
        if (m_stored[0] != 0 || (m_kind == ScaleKind::Block && group % 4)) return false;
        m_kernels->quantizeTernaryPacked(x, m_k, group, to, scales);
        for (std::size_t i = m_k; i % 4; ++i) // what fills the last byte decodes to 0
            to[i / 4] = std::uint8_t(to[i / 4] | m_stored[std::size_t(m_format.zeroCode)] << (i % 4 * 2));
        return true;
    }

    const FormatTraits& m_format;
    Packing m_packing;
    int m_bits;
    std::size_t m_n, m_k, m_padded = 0;
    ScaleKind m_kind;
    Run m_run;
    SharedGroups m_shared;
    bool m_shares = false; ///< scales that no row can see alone
    bool m_signed = false;
    std::array<std::uint8_t, 256> m_stored{};
    const KernelSet* m_kernels;
    Aligned<float> m_source;
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
        // What a code means must be the level that it was chosen for, by either of the format's decoders.
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
