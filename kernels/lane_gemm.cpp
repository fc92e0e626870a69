// SPDX-License-Identifier: GPL-3.0-or-later
// The loop for many rows of x: it decodes panels into the second-level cache, then does a dense product.
#include "kernels/lane_loops.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

namespace qs {
namespace {

constexpr std::size_t kDenseSteps = 1024; // stream words of a decoded panel: 256 KiB
constexpr std::size_t kBlocksToStop = 16; // blocks of rows between two questions whether to stop
constexpr std::size_t kPartRows = 64;     // smallest number of rows of x in one part of a panel

/// Transposes 4 x 4 words: the words of each of four rows become neighbours. `row`, `toRow`: words from row to row.
void transpose4(const std::uint32_t* from, std::size_t row, std::uint32_t* to, std::size_t toRow) {
    using Four [[gnu::vector_size(16)]] = std::uint32_t;
    Four a, b, c, d;
    std::memcpy(&a, from, 16), std::memcpy(&b, from + row, 16);
    std::memcpy(&c, from + 2 * row, 16), std::memcpy(&d, from + 3 * row, 16);
    const Four ab = __builtin_shufflevector(a, b, 0, 4, 1, 5), cd = __builtin_shufflevector(c, d, 0, 4, 1, 5);
    const Four ef = __builtin_shufflevector(a, b, 2, 6, 3, 7), gh = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    a = __builtin_shufflevector(ab, cd, 0, 1, 4, 5), b = __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
    c = __builtin_shufflevector(ef, gh, 0, 1, 4, 5), d = __builtin_shufflevector(ef, gh, 2, 3, 6, 7);
    std::memcpy(to, &a, 16), std::memcpy(to + toRow, &b, 16);
    std::memcpy(to + 2 * toRow, &c, 16), std::memcpy(to + 3 * toRow, &d, 16);
}

/// out[j, i] = from[i, j] for `count` rows of `words` words, a multiple of 16, which are one cache line. `row`: words
/// from row to row.
void packWords(const std::uint32_t* from, std::size_t row, std::size_t count, std::size_t words, std::uint32_t* out) {
    const std::size_t fours = count / 4 * 4;
    for (std::size_t j = 0; j < words; j += 16, out += 16 * count) {
        for (std::size_t i = 0; i < fours; i += 4)
            for (std::size_t w = 0; w < 16; w += 4) transpose4(from + i * row + j + w, row, out + w * count + i, count);
        for (std::size_t i = fours; i < count; ++i)
            for (std::size_t w = 0; w < 16; ++w) out[w * count + i] = from[i * row + j + w];
    }
}

class LaneGemm final : public LaneMatmul {
public:
    using LaneMatmul::LaneMatmul;
    std::unique_ptr<PreparedMatmul> clone() const override { return std::make_unique<LaneGemm>(*this); }

    std::vector<InnerLoop> innerLoops() const override {
        const auto* micro = weights_.codes == LaneCodes::Int8 ? kernels_->microInt8 : kernels_->micro;
        const std::size_t rows = std::min(problem_.m, kernels_->microRows);
        const auto decode = kernels_->decode[int(weights_.codes)];
        return {{"rows of x times the decoded channels", reinterpret_cast<const void*>(micro[rows - 1])},
                {"decodes a panel into the cache", reinterpret_cast<const void*>(decode)}};
    }

    bool run(const MatmulInput& in, const MatmulOutput& out, ThreadTeam& team, const StopRequest& stop) override {
        const std::size_t most = kernels_->microRows, m = problem_.m, blocks = (m + most - 1) / most;
        room_ = &roomOfThread();
        room_->input.reset(problem_, weights_, std::size_t(team.size()) * most, LaneInput::Keep::Words);
        const std::size_t packed = blocks * most * room_->input.rowWords();
        if (room_->packed.size() < packed) room_->packed = Aligned<std::uint32_t>(packed);
        room_->starts.resize(weights_.products == LaneProducts::I8 ? blocks * most * weights_.groups : 0);
        std::atomic<bool> stopped{false};
        // Every part decodes the panel again, so a part must have many rows.
        const std::size_t parts = team.size() > 1 ? std::clamp<std::size_t>(m / kPartRows, 1, 4) : 1;
        Shares rowShares(blocks, team.size()), panelShares(weights_.panels, team.size(), parts);
        room_->scratch.resize(std::max(room_->scratch.size(), std::size_t(team.size())));
        team.run([&](int worker) {
            rowShares.each(worker, [&](std::size_t b, std::size_t, std::size_t) {
                if (stopped || stop()) return stopped = true, false;
                pack(in, b * most, std::min(most, m - b * most), std::size_t(worker) * most);
                return true;
            });
        });
        if (stopped) return false;
        const LaneOutput output(problem_, *kernels_, weights_, room_->input, out);
        room_->takesSums = output.takesSums(m);
        team.run([&](int worker) {
            const bool all = panelShares.each(worker, [&](std::size_t panel, std::size_t part, std::size_t endPart) {
                const Rows rows{blocks * part / parts * most, std::min(blocks * endPart / parts * most, m)};
                return panelTimes(panel, rows, room_->scratch[std::size_t(worker)], output, stopped, stop);
            });
            if (!all) stopped = true;
        });
        return !stopped;
    }

private:
    struct Rows {
        std::size_t begin, end;
    };
    struct Scratch {
        Aligned<std::uint32_t> panel;
        Aligned<float> sums;
    };
    /// Memory of a run besides the weights.
    struct Room {
        LaneInput input;
        Aligned<std::uint32_t> packed;
        bool takesSums = false;           ///< of the output
        std::vector<Scratch> scratch;     ///< one per worker
        std::vector<std::int32_t> starts; ///< I8 only: initial values of the sums, [block of rows][group][row]
    };

    /// Packs rows [first, first + count) of the x stream: word j of all rows side by side, then word j + 1.
    void pack(const MatmulInput& in, std::size_t first, std::size_t count, std::size_t slot) {
        LaneInput& input = room_->input;
        const std::size_t size = input.rowWords();
        std::uint32_t* const out = room_->packed.data() + first * size;
        if (input.isPlain(problem_, weights_)) {
            const auto* x = static_cast<const std::uint32_t*>(in.x) + first * problem_.k;
            const std::size_t whole = problem_.k / 16 * 16, rest = weights_.streamSize() - whole;
            packWords(x, problem_.k, count, whole, out);
            for (std::size_t j = whole; j < whole + rest; ++j)
                for (std::size_t i = 0; i < count; ++i) out[j * count + i] = j < problem_.k ? x[i * problem_.k + j] : 0;
            return;
        }
        for (std::size_t i = 0; i < count; ++i) input.read(problem_, weights_, in, first + i, slot + i, *kernels_);
        packWords(input.words(slot), size, count, size, out);
        if (room_->starts.empty()) return;
        const int bias = weights_.codes == LaneCodes::Int8 ? kernels_->int8Bias : weights_.bias;
        std::int32_t* start = room_->starts.data() + first * weights_.groups;
        for (std::size_t g = 0; g < weights_.groups; ++g)
            for (std::size_t i = 0; i < count; ++i)
                *start++ = std::int32_t(std::uint32_t(bias) * std::uint32_t(input.sums(first + i)[g]));
    }

    /// Prefetches the memory that the next chunk will be decoded from. It does so in parts, between the products of
    /// this chunk.
    class Ahead {
    public:
        Ahead(const void* from, std::size_t words, std::size_t parts)
            : at_(static_cast<const char*>(from)), bytes_(from ? words * 4 : 0), part_((bytes_ / parts / 64 + 1) * 64) {
        }
        void skip() { at_ += bytes_; }
        void ask() {
            const std::size_t now = std::min({part_, bytes_, kMostAhead});
            for (std::size_t i = 0; i < now; i += 64) __builtin_prefetch(at_ + i, 0, 2);
            at_ += now, bytes_ -= now;
        }

    private:
        static constexpr std::size_t kMostAhead = 16384; ///< bytes per call: longer bursts are slow
        const char* at_;
        std::size_t bytes_, part_;
    };

    /// Multiplies one panel by some rows, in chunks of k. The decoded weights of a chunk stay in the second-level
    /// cache.
    bool panelTimes(std::size_t panel, Rows wanted, Scratch& scratch, const LaneOutput& output,
                    std::atomic<bool>& stopped, const StopRequest& stop) {
        const LaneWeights& w = weights_;
        const std::size_t width = kernels_->microWidth, most = kernels_->microRows, m = problem_.m;
        const std::size_t perStep = w.streamSize() / w.steps;
        const std::size_t blocks = (wanted.end - wanted.begin + most - 1) / most;
        // Integer sums need whole groups. Other sums may be split anywhere, because the scales are already applied.
        std::size_t chunk = std::max<std::size_t>(kDenseSteps / perStep, 1);
        if (w.products == LaneProducts::I8) chunk = std::max<std::size_t>(chunk / w.groupSteps, 1) * w.groupSteps;
        chunk = std::min(chunk, w.steps);
        const bool asStored = kernels_->multiplied[int(w.codes)] && (w.products == LaneProducts::I8 || !w.scaled());
        if (!asStored && scratch.panel.size() < chunk * perStep * kPanel)
            scratch.panel = Aligned<std::uint32_t>(chunk * perStep * kPanel);
        if (scratch.sums.size() < m * kPanel) scratch.sums = Aligned<float>(m * kPanel);
        for (std::size_t step = 0; step < w.steps; step += chunk) {
            std::array<DecodeCall, kPanel / kLanes> strips{};
            for (std::size_t lane = 0, s = 0; lane < kPanel; lane += width, ++s) {
                DecodeCall& decode = strips[s];
                decode.weights = &w, decode.firstStep = step, decode.steps = std::min(chunk, w.steps - step);
                decode.words = w.words(panel) + step * kPanel + lane;
                if (!asStored) decode.out = scratch.panel.data() + chunk * perStep * lane;
                if (w.scalePerK)
                    decode.scales = w.scalesPerK(panel, w.sets == 1 ? 0 : lane / kLanes);
                else if (w.scales.size())
                    decode.scales = w.scales.data() + (panel * w.groups + step / w.groupSteps) * kPanel + lane;
                if (!asStored) kernels_->decode[int(w.codes)](decode);
            }
            const bool last = step + chunk >= w.steps;
            Ahead words(w.words(panel) + (step + chunk) * kPanel, chunk * kPanel, blocks);
            Ahead scales(strips[0].scales, w.scalePerK ? 0 : chunk / w.groupSteps * kPanel, blocks);
            scales.skip();
            for (std::size_t first = wanted.begin; first < wanted.end; first += most) {
                if ((first - wanted.begin) % (kBlocksToStop * most) == 0 && (stopped || stop())) return false;
                const std::size_t rows = std::min(most, wanted.end - first);
                words.ask(), scales.ask();
                for (std::size_t lane = 0, s = 0; lane < kPanel; lane += width, ++s) {
                    float* sums = scratch.sums.data() + m * lane + first * width;
                    if (last)
                        for (std::size_t i = 0; i < rows; ++i) output.announce(first + i, panel * kPanel + lane, width);
                    // Sums of one chunk need no memory of their own.
                    float* const place = room_->takesSums && last && step == 0
                                             ? output.place(first, panel * kPanel + lane, width)
                                             : nullptr;
                    times(strips[s], first, rows, perStep, place ? place : sums, place ? output.rowLength() : 0);
                    if (last && !place)
                        for (std::size_t i = 0; i < rows; ++i)
                            output.store(sums + i * width, first + i, panel * kPanel + lane, width);
                }
            }
        }
        return true;
    }

    /// Multiplies one chunk, decoded or as stored, by up to microRows rows of x, from row `first` on.
    /// `sumRow`: floats from one row of sums to the next; 0: they follow each other.
    void times(const DecodeCall& decoded, std::size_t first, std::size_t rows, std::size_t perStep, float* sums,
               std::size_t sumRow) {
        const LaneWeights& w = weights_;
        MicroCall call{};
        call.a = room_->packed.data() + first * room_->input.rowWords() + decoded.firstStep * perStep * rows;
        call.b = decoded.out ? decoded.out : decoded.words, call.c = sums, call.cRow = sumRow;
        call.bStep = decoded.out ? kernels_->microWidth : kPanel;
        const MicroKernel kernel = (w.codes == LaneCodes::Int8 ? kernels_->microInt8 : kernels_->micro)[rows - 1];
        call.kk = decoded.steps * perStep, call.add = decoded.firstStep > 0;
        if (w.products != LaneProducts::I8) return kernel(call);
        static const std::array<float, kPanel> ones = [] {
            std::array<float, kPanel> a{};
            a.fill(1.0f);
            return a;
        }();
        call.kk = w.groupSteps * perStep, call.groups = decoded.steps / w.groupSteps;
        call.init = room_->starts.data() + first * w.groups + decoded.firstStep / w.groupSteps * rows;
        call.scale = decoded.scales ? decoded.scales : ones.data();
        call.scaleRow = decoded.scales ? kPanel : 0;
        if (call.kk > 1) return kernel(call);
        // The groups are too short for a kernel to take several at once.
        const std::size_t groups = std::exchange(call.groups, 1);
        for (std::size_t g = 0; g < groups; ++g, call.add = true) {
            kernel(call);
            call.a += rows, call.b += call.bStep, call.init += rows, call.scale += call.scaleRow;
        }
    }

    /// The working memory of the calling thread. All prepared weights share it, their clones included. So it exists
    /// only once, and the first run of a clone causes no page faults in new buffers.
    static Room& roomOfThread() {
        thread_local Room room;
        return room;
    }
    Room* room_ = nullptr; ///< during a run
};

} // namespace

std::unique_ptr<PreparedMatmul> prepareLaneGemm(const MatmulProblem& problem, const WeightOperand& operand,
                                                const LaneKernels& kernels, LaneProducts products, ThreadTeam& team) {
    return std::make_unique<LaneGemm>(problem, operand, kernels, products, team);
}

} // namespace qs
