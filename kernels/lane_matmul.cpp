// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/lane_matmul.h"

#include "kernels/lane_loops.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <thread>

namespace qs {
namespace {

constexpr std::size_t kMostI32 = 131071;  // 128 * 127 * k stays below 2^31
constexpr std::size_t kMostGemvRows = 64; // up to about here it is cheapest to decode again for every 4 rows
constexpr std::size_t kGemvRows = 4;

class LaneGemv final : public LaneMatmul {
public:
    using LaneMatmul::LaneMatmul;
    std::unique_ptr<PreparedMatmul> clone() const override { return std::make_unique<LaneGemv>(*this); }

    std::vector<InnerLoop> innerLoops() const override {
        const int codes = int(weights_.codes);
        const auto all = keep() == LaneInput::Keep::Tables ? kernels_->gemvLookups[codes] : kernels_->gemv[codes];
        if (!weights_.scalePerK)
            return {{"a panel of 64 channels times up to 4 rows of x", reinterpret_cast<const void*>(all)}};
        const auto part = weights_.sets == 1 ? kernels_->gemv[codes] : kernels_->gemvSets[codes];
        return {{"lanes of a panel times up to 4 rows of x", reinterpret_cast<const void*>(part)},
                {"folds the scales of each k into x", weights_.products == LaneProducts::Fixed
                                                          ? reinterpret_cast<const void*>(kernels_->foldFixed[codes])
                                                          : reinterpret_cast<const void*>(kernels_->fold)}};
    }

    bool run(const MatmulInput& in, const MatmulOutput& out, ThreadTeam& team, const StopRequest& stop) override {
        const std::size_t rows = (problem_.m + kGemvRows - 1) / kGemvRows * kGemvRows;
        room_->input.reset(problem_, weights_, problem_.m == 1 ? 1 : problem_.m == 2 ? 2 : rows, keep());
        const LaneOutput output(problem_, *kernels_, weights_, room_->input, out);
        std::atomic<bool> stopped{false};
        std::atomic<std::size_t> nextRow{0}, rowsRead{0};
        Shares shares(weights_.panels, team.size());
        if (room_->folded.size() < std::size_t(team.size())) room_->folded.resize(std::size_t(team.size()));
        team.run([&](int worker) {
            for (std::size_t m; (m = nextRow.fetch_add(1)) < problem_.m; rowsRead.fetch_add(1))
                room_->input.read(problem_, weights_, in, m, m, *kernels_);
            Aligned<std::uint32_t>& folded = room_->folded[std::size_t(worker)];
            if (weights_.scalePerK && !folded.size())
                folded = Aligned<std::uint32_t>((problem_.m > 2 ? kGemvRows : problem_.m) * weights_.sets *
                                                room_->input.rowWords());
            awaitRows(rowsRead, shareOf(weights_.panels, worker, team.size()).first);
            const bool all = shares.each(worker, [&](std::size_t panel, std::size_t, std::size_t) {
                if (stopped || stop()) return false;
                for (std::size_t m = 0; m < problem_.m; m += kGemvRows) times(panel, m, folded, output);
                return true;
            });
            if (!all) stopped = true;
        });
        return !stopped;
    }

private:
    /// Memory of a run besides the weights.
    struct Room {
        LaneInput input;
        std::vector<Aligned<std::uint32_t>> folded; ///< one per worker
    };

    /// Waits until other workers have read their rows of x. Meanwhile it prefetches the start of a panel, because the
    /// memory is idle.
    void awaitRows(const std::atomic<std::size_t>& rowsRead, std::size_t panel) const {
        constexpr std::size_t kMostAhead = 32768, kAtOnce = 512; // bytes
        const char* at = reinterpret_cast<const char*>(weights_.stream.data() + panel * weights_.panelWords());
        const char* const end = at + std::min(weights_.panelWords() * sizeof(std::uint32_t), kMostAhead);
        while (rowsRead < problem_.m) {
            if (at >= end) std::this_thread::yield();
            for (std::size_t i = 0; i < kAtOnce && at < end; i += 64, at += 64) __builtin_prefetch(at);
        }
    }

    /// Tables are larger than x. With more than two rows they do not stay in the cache.
    LaneInput::Keep keep() const {
        if (weights_.scalePerK) return LaneInput::Keep::Floats;
        const bool tables = problem_.m <= 2 && kernels_->gemvLookups[int(weights_.codes)];
        return tables ? LaneInput::Keep::Tables : LaneInput::Keep::Words;
    }

    /// Multiplies the scales into a row of x, for scales that change with k.
    void fold(const float* x, const float* scale, std::uint32_t* out) const {
        const std::size_t size = weights_.streamSize();
        if (weights_.products == LaneProducts::Fixed)
            kernels_->foldFixed[int(weights_.codes)](x, scale, weights_, out);
        else
            kernels_->fold(x, scale, size, size, out);
    }
    /// Multiplies one panel by up to 4 rows of x, from row m on.
    void times(std::size_t panel, std::size_t m, Aligned<std::uint32_t>& folded, const LaneOutput& output) {
        alignas(64) float y[kGemvRows * kPanel];
        const LaneWeights& w = weights_;
        const std::size_t left = problem_.m - m, rows = std::min(left == 3 ? 4 : left, kGemvRows);
        GemvCall call{};
        call.weights = &w, call.rows = rows, call.y = y;
        call.words = w.words(panel);
        call.xRow = room_->input.rowWords();
        call.x = room_->input.words(m), call.xSums = room_->input.sums(m);
        if (!w.scalePerK) {
            if (w.scales.size()) call.scales = w.scales.data() + panel * w.groups * kPanel;
            (keep() == LaneInput::Keep::Tables ? kernels_->gemvLookups : kernels_->gemv)[int(w.codes)](call);
        } else {
            call.x = folded.data(), call.xSet = room_->input.rowWords(), call.xRow = w.sets * call.xSet;
            for (std::size_t set = 0; set < w.sets; ++set)
                for (std::size_t i = 0; i < rows; ++i)
                    fold(room_->input.floats(m + i), w.scalesPerK(panel, set),
                         folded.data() + i * call.xRow + set * call.xSet);
            (w.sets == 1 ? kernels_->gemv : kernels_->gemvSets)[int(w.codes)](call);
        }
        for (std::size_t i = 0; i < std::min(left, kGemvRows); ++i)
            output.store(y + i * kPanel, m + i, panel * kPanel, kPanel);
    }

    /// Shared by all clones, so that a clone has only cold weights, not cold buffers.
    std::shared_ptr<Room> room_ = std::make_shared<Room>();
};

/// Whether the levels are integers of -128..127 at equal steps of 1, or of 2 for one bit.
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

bool LaneOutput::takesSums(std::size_t rows) const {
    if (weights_.laneBlock != weights_.lanePad || type_ != NumberType::F32) return false;
    if (!weights_.addend.empty() || !weights_.nanChannel.empty()) return false;
    for (std::size_t row = 0; row < rows; ++row)
        if (input_.scale(row) != 1) return false;
    return true;
}

void LaneOutput::store(const float* lanes, std::size_t row, std::size_t firstLane, std::size_t count) const {
    const float scale = input_.scale(row);
    const float* addend = weights_.addend.empty() ? nullptr : weights_.addend.data() + firstLane;
    const bool whole = weights_.laneBlock == weights_.lanePad && firstLane + count <= n_ && count % kLanes == 0;
    if (whole && type_ == NumberType::F32 && weights_.nanChannel.empty()) {
        return kernels_.finish(lanes, count, scale, addend, static_cast<float*>(out_) + row * n_ + firstLane);
    }
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t channel = weights_.channel(firstLane + i);
        if (channel >= n_) continue;
        float y = lanes[i] * scale + (addend ? addend[i] : 0.0f);
        if (!weights_.nanChannel.empty() && weights_.nanChannel[channel]) y = std::numeric_limits<float>::quiet_NaN();
        storeOutput(type_, out_, row * n_ + channel, y);
    }
}

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
                              : products == LaneProducts::I8   ? NumberType::I8
                                                               : NumberType::I16;
    if (problem.compute != NumberType::None && problem.compute != wanted) return "another type of products is demanded";
    const NumberType sums = products == LaneProducts::I8 ? NumberType::I32 : NumberType::F32;
    if (problem.accum != NumberType::None && problem.accum != sums) return "another type of sums is demanded";
    if (products == LaneProducts::Fixed && !fixedLevelsOf(problem.weight))
        return "the levels are not alike enough for 13 bits";
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
    return prepareLaneGemm(problem, operand, kernels, products, team);
}

} // namespace qs
