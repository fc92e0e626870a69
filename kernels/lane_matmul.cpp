// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/lane_matmul.h"

#include "kernels/kernel_set.h"
#include "kernels/lane_input.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>

namespace qs {
namespace {

constexpr std::size_t kMostI32 = 131071;  // 128 * 127 * k stays below 2^31
constexpr std::size_t kMostGemvRows = 64; // decoding anew for every 4 rows costs least up to about here
constexpr std::size_t kDenseSteps = 1024; // stream words of a decoded panel: 256 KiB
constexpr std::size_t kGemvRows = 4;

/// Lanes of a panel to the result: y = value * scale of the row + bias.
class LaneOutput {
public:
    LaneOutput(const MatmulProblem& problem, const LaneWeights& weights, const LaneInput& input,
               const MatmulOutput& out)
        : m_weights(weights), m_input(input), m_n(problem.n), m_type(problem.out), m_out(out.out) {}

    void store(const float* lanes, std::size_t row, std::size_t firstLane, std::size_t count) const {
        const float scale = m_input.scale(row);
        const float* addend = m_weights.addend.empty() ? nullptr : m_weights.addend.data() + firstLane;
        const bool whole = m_weights.laneBlock == m_weights.lanePad && firstLane + count <= m_n && count % kLanes == 0;
        if (whole && m_type == NumberType::F32 && m_weights.nanChannel.empty()) {
            float* __restrict y = static_cast<float*>(m_out) + row * m_n + firstLane;
            const float* __restrict from = lanes;
            for (std::size_t i = 0; i < count; i += kLanes, y += kLanes, from += kLanes)
                if (addend)
                    for (std::size_t j = 0; j < kLanes; ++j) y[j] = from[j] * scale + addend[i + j];
                else
                    for (std::size_t j = 0; j < kLanes; ++j) y[j] = from[j] * scale;
            return;
        }
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t channel = m_weights.channel(firstLane + i);
            if (channel >= m_n) continue;
            float y = lanes[i] * scale + (addend ? addend[i] : 0.0f);
            if (!m_weights.nanChannel.empty() && m_weights.nanChannel[channel])
                y = std::numeric_limits<float>::quiet_NaN();
            storeOutput(m_type, m_out, row * m_n + channel, y);
        }
    }

private:
    const LaneWeights& m_weights;
    const LaneInput& m_input;
    std::size_t m_n;
    NumberType m_type;
    void* m_out;
};

class LaneMatmul : public PreparedMatmul {
public:
    LaneMatmul(const MatmulProblem& problem, const WeightOperand& operand, const LaneKernels& kernels,
               LaneProducts products, ThreadTeam& team)
        : m_problem(problem), m_kernels(&kernels), m_weights(problem, operand, products, team) {}
    std::size_t weightBytes() const override { return m_weights.bytes(); }

protected:
    MatmulProblem m_problem;
    const LaneKernels* m_kernels;
    LaneWeights m_weights;
};

class LaneGemv final : public LaneMatmul {
public:
    using LaneMatmul::LaneMatmul;
    explicit LaneGemv(const LaneMatmul& other) : LaneMatmul(other) {}
    std::unique_ptr<PreparedMatmul> clone() const override {
        return std::make_unique<LaneGemv>(static_cast<const LaneMatmul&>(*this)); // the weights, not the input
    }

    bool run(const MatmulInput& in, const MatmulOutput& out, ThreadTeam& team, const StopRequest& stop) override {
        const std::size_t rows = (m_problem.m + kGemvRows - 1) / kGemvRows * kGemvRows;
        m_input.reset(m_problem, m_weights, m_problem.m == 1 ? 1 : m_problem.m == 2 ? 2 : rows, keep());
        for (std::size_t m = 0; m < m_problem.m; ++m) m_input.read(m_problem, m_weights, in, m, m, *m_kernels);
        const LaneOutput output(m_problem, m_weights, m_input, out);
        std::atomic<bool> stopped{false};
        team.run([&](int worker) {
            const auto [begin, end] = shareOf(m_weights.panels, worker, team.size());
            Aligned<std::uint32_t> folded(m_weights.scalePerK ? kGemvRows * m_input.rowWords() : 0);
            for (std::size_t panel = begin; panel < end; ++panel) {
                if (stopped || stop()) return stopped.store(true);
                for (std::size_t m = 0; m < m_problem.m; m += kGemvRows) times(panel, m, folded, output);
            }
        });
        return !stopped;
    }

private:
    /// Tables are larger than x: beyond two rows they no longer come from the cache in time.
    LaneInput::Keep keep() const {
        if (m_weights.scalePerK) return LaneInput::Keep::Floats;
        const bool tables = m_problem.m <= 2 && m_kernels->gemvLookups[int(m_weights.codes)];
        return tables ? LaneInput::Keep::Tables : LaneInput::Keep::Words;
    }

    void times(std::size_t panel, std::size_t m, Aligned<std::uint32_t>& folded, const LaneOutput& output) {
        alignas(64) float y[kGemvRows * kPanel];
        const LaneWeights& w = m_weights;
        const std::size_t left = m_problem.m - m, rows = std::min(left == 3 ? 4 : left, kGemvRows);
        GemvCall call{};
        call.weights = &w, call.rows = rows, call.y = y;
        call.words = w.words(panel);
        call.xRow = m_input.rowWords();
        call.x = m_input.words(m), call.xSums = m_input.sums(m);
        if (!w.scalePerK) {
            if (w.scales.size()) call.scales = w.scales.data() + panel * w.groups * kPanel;
            (keep() == LaneInput::Keep::Tables ? m_kernels->gemvLookups : m_kernels->gemv)[int(w.codes)](call);
        } else {
            const std::size_t size = w.streamSize();
            for (std::size_t set = 0; set < w.sets; ++set) {
                for (std::size_t i = 0; i < rows; ++i)
                    m_kernels->fold(m_input.floats(m + i), w.scalesPerK(panel, set), size, size,
                                    folded.data() + i * call.xRow);
                GemvCall part = call;
                part.x = folded.data();
                part.words += set * kLanes, part.y += set * kLanes;
                (w.sets == 1 ? m_kernels->gemv : m_kernels->gemv16)[int(w.codes)](part);
            }
        }
        for (std::size_t i = 0; i < std::min(left, kGemvRows); ++i)
            output.store(y + i * kPanel, m + i, panel * kPanel, kPanel);
    }

    LaneInput m_input;
};

class LaneGemm final : public LaneMatmul {
public:
    using LaneMatmul::LaneMatmul;
    explicit LaneGemm(const LaneMatmul& other) : LaneMatmul(other) {}
    std::unique_ptr<PreparedMatmul> clone() const override {
        return std::make_unique<LaneGemm>(static_cast<const LaneMatmul&>(*this));
    }

    bool run(const MatmulInput& in, const MatmulOutput& out, ThreadTeam& team, const StopRequest& stop) override {
        const std::size_t most = m_kernels->microRows, m = m_problem.m, blocks = (m + most - 1) / most;
        m_input.reset(m_problem, m_weights, std::size_t(team.size()) * most, LaneInput::Keep::Words);
        m_packed.resize(blocks * most * m_input.rowWords());
        std::atomic<bool> stopped{false};
        team.run([&](int worker) {
            const auto [begin, end] = shareOf(blocks, worker, team.size());
            for (std::size_t b = begin; b < end; ++b) {
                if (stopped || stop()) return stopped.store(true);
                pack(in, b * most, std::min(most, m - b * most), std::size_t(worker) * most);
            }
        });
        if (stopped) return false;
        const LaneOutput output(m_problem, m_weights, m_input, out);
        team.run([&](int worker) {
            const auto [begin, end] = shareOf(m_weights.panels, worker, team.size());
            Scratch scratch;
            for (std::size_t panel = begin; panel < end; ++panel)
                if (!panelTimes(panel, scratch, output, stopped, stop)) return stopped.store(true);
        });
        return !stopped;
    }

private:
    struct Scratch {
        Aligned<std::uint32_t> panel;
        Aligned<float> sums;
    };

    /// Rows [first, first + count) of the x stream, word by word beside each other.
    void pack(const MatmulInput& in, std::size_t first, std::size_t count, std::size_t slot) {
        const std::size_t size = m_input.rowWords();
        for (std::size_t i = 0; i < count; ++i) m_input.read(m_problem, m_weights, in, first + i, slot + i, *m_kernels);
        std::uint32_t* out = m_packed.data() + first * size;
        for (std::size_t j = 0; j < size; j += 16, out += 16 * count) // rows are whole cache lines
            for (std::size_t i = 0; i < count; ++i) {
                const std::uint32_t* row = m_input.words(slot + i) + j;
                for (std::size_t w = 0; w < 16; ++w) out[w * count + i] = row[w];
            }
    }

    /// One panel times all rows, in chunks of k whose decoded weights stay in the second-level cache.
    bool panelTimes(std::size_t panel, Scratch& scratch, const LaneOutput& output, std::atomic<bool>& stopped,
                    const StopRequest& stop) {
        const LaneWeights& w = m_weights;
        const std::size_t width = m_kernels->microWidth, most = m_kernels->microRows, m = m_problem.m;
        const std::size_t perStep = w.streamSize() / w.steps;
        // Integer sums run over whole groups; the others may break anywhere, their scales being applied already.
        std::size_t chunk = std::max<std::size_t>(kDenseSteps / perStep, 1);
        if (w.products == LaneProducts::I8) chunk = std::max<std::size_t>(chunk / w.groupSteps, 1) * w.groupSteps;
        chunk = std::min(chunk, w.steps);
        if (!scratch.panel.size()) {
            scratch.panel = Aligned<std::uint32_t>(chunk * perStep * kPanel);
            scratch.sums = Aligned<float>(m * kPanel);
        }
        for (std::size_t step = 0; step < w.steps; step += chunk) {
            std::array<DecodeCall, kPanel / kLanes> strips{};
            for (std::size_t lane = 0, s = 0; lane < kPanel; lane += width, ++s) {
                DecodeCall& decode = strips[s];
                decode.weights = &w, decode.firstStep = step, decode.steps = std::min(chunk, w.steps - step);
                decode.words = w.words(panel) + step * kPanel + lane;
                decode.out = scratch.panel.data() + chunk * perStep * lane;
                if (w.scalePerK)
                    decode.scales = w.scalesPerK(panel, w.sets == 1 ? 0 : lane / kLanes);
                else if (w.scales.size())
                    decode.scales = w.scales.data() + (panel * w.groups + step / w.groupSteps) * kPanel + lane;
                m_kernels->decode[int(w.codes)](decode);
            }
            for (std::size_t first = 0; first < m; first += most) {
                if (stopped || stop()) return false;
                const std::size_t rows = std::min(most, m - first);
                for (std::size_t lane = 0, s = 0; lane < kPanel; lane += width, ++s)
                    times(strips[s], first, rows, perStep, scratch.sums.data() + m * lane + first * width);
            }
        }
        for (std::size_t row = 0; row < m; ++row)
            for (std::size_t lane = 0; lane < kPanel; lane += width)
                output.store(scratch.sums.data() + m * lane + row * width, row, panel * kPanel + lane, width);
        return true;
    }

    void times(const DecodeCall& decoded, std::size_t first, std::size_t rows, std::size_t perStep, float* sums) {
        const LaneWeights& w = m_weights;
        MicroCall call{};
        call.a = m_packed.data() + first * m_input.rowWords() + decoded.firstStep * perStep * rows;
        call.b = decoded.out, call.c = sums;
        const MicroKernel kernel = (w.codes == LaneCodes::Int8 ? m_kernels->microInt8 : m_kernels->micro)[rows - 1];
        if (w.products != LaneProducts::I8) {
            call.kk = decoded.steps * perStep, call.add = decoded.firstStep > 0;
            return kernel(call);
        }
        static const std::array<float, kPanel> ones = [] {
            std::array<float, kPanel> a{};
            a.fill(1.0f);
            return a;
        }();
        const int bias = w.codes == LaneCodes::Int8 ? m_kernels->int8Bias : w.bias;
        std::int32_t init[16];
        call.init = init, call.kk = w.groupSteps * perStep;
        for (std::size_t step = 0; step < decoded.steps; step += w.groupSteps) {
            const std::size_t group = (decoded.firstStep + step) / w.groupSteps;
            for (std::size_t i = 0; i < rows; ++i)
                init[i] = std::int32_t(std::uint32_t(bias) * std::uint32_t(m_input.sums(first + i)[group]));
            call.add = group > 0;
            call.scale = decoded.scales ? decoded.scales + step / w.groupSteps * kPanel : ones.data();
            kernel(call);
            call.a += call.kk * rows, call.b += call.kk * m_kernels->microWidth;
        }
    }

    LaneInput m_input;
    std::vector<std::uint32_t> m_packed;
};

bool integerTable(const MatmulProblem& problem, LaneCodes codes) {
    const auto& levels = problem.weight.levels;
    if (levels.empty() || codes == LaneCodes::Int8) return true;
    const float step = levels[1] - levels[0];
    if (step != 1 && !(codes == LaneCodes::Table1 && step == 2)) return false;
    for (std::size_t i = 0; i < levels.size(); ++i)
        if (levels[i] != float(int(levels[0])) + step * float(i) || levels[i] < -128 || levels[i] > 127) return false;
    return true;
}

} // namespace

const char* whyNotLanes(const MatmulProblem& problem, const LaneKernels& kernels, LaneProducts products,
                        LaneLoop loop) {
    if (const char* reason = whyImpossible(problem)) return reason;
    if (problem.op != MatmulOp::Matmul) return "the vector kernels multiply only";
    LaneCodes codes{};
    if (const char* reason = laneCodesOf(problem, &codes)) return reason;
    const bool known =
        loop == LaneLoop::Gemv ? kernels.gemv[int(codes)] != nullptr : kernels.decode[int(codes)] != nullptr;
    if (!known) return "these products have no kernel for the format";
    if (loop == LaneLoop::Gemv && problem.m > kMostGemvRows) return "the few-row loop stops at 64 rows";
    const NumberType wanted = products == LaneProducts::F32    ? NumberType::F32
                              : products == LaneProducts::Bf16 ? NumberType::Bf16
                                                               : NumberType::I8;
    if (problem.compute != NumberType::None && problem.compute != wanted) return "another type of products is demanded";
    const NumberType sums = products == LaneProducts::I8 ? NumberType::I32 : NumberType::F32;
    if (problem.accum != NumberType::None && problem.accum != sums) return "another type of sums is demanded";
    if (products != LaneProducts::I8) return nullptr;
    if (problem.act != NumberType::I8) return "integer products need int8 activations";
    if (!integerTable(problem, codes)) return "integer products need integer levels";
    const WeightOperand nothing;
    const StoredWeight weight(problem, nothing);
    const std::size_t along = weight.blockAlongK();
    if (weight.hasScales() && along == 1 && problem.k > 1) return "integer sums need a scale that lasts along k";
    if (along > kMostI32) return "integer sums are safe to 131071 products only";
    return nullptr;
}

std::unique_ptr<PreparedMatmul> prepareLanes(const MatmulProblem& problem, const WeightOperand& operand,
                                             const LaneKernels& kernels, LaneProducts products, LaneLoop loop,
                                             ThreadTeam& team) {
    if (loop == LaneLoop::Gemv) return std::make_unique<LaneGemv>(problem, operand, kernels, products, team);
    return std::make_unique<LaneGemm>(problem, operand, kernels, products, team);
}

} // namespace qs
