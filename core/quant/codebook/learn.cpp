// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/quant/codebook/learn.h"

#include "core/base/parallel.h"
#include "core/model/mapped_file.h"
#include "core/model/output_axis.h"
#include "core/quant/codebook/density.h"
#include "core/quant/encode/pass.h"
#include "kernels/level_boundaries.h"

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <list>
#include <mutex>

namespace qs {
namespace {

constexpr int kBinShift = 16; ///< 7 bits of the mantissa: a bin is at most 1/128 wide relative to its value
constexpr std::size_t kBins = std::size_t(1) << (32 - kBinShift);
constexpr int kRefinements = 2;
constexpr std::size_t kKept = 256; ///< codebooks of tensors that were learned last

/// Sums of weights and of weighted values as integers, which any number of workers may add up in any order.
struct Sums {
    std::vector<std::uint64_t> w;
    std::vector<std::int64_t> x;
    void add(const Sums& other) {
        if (w.empty()) return void(*this = other);
        for (std::size_t i = 0; i < other.w.size(); ++i) w[i] += other.w[i], x[i] += other.x[i];
    }
};

/// One walk over all values: `index` names the sum that a value belongs to.
class Gatherer {
public:
    Gatherer(std::span<const LearnSource> sources, const QuantSpec& spec, const Job& job)
        : sources_(sources), spec_(spec), plan_(composedPlan(spec)), job_(job) {}

    /// The largest scale, value and weight, which the integers are fractions of.
    Result<void> measureRange() {
        for (const LearnSource& source : sources_) {
            std::vector<float> most(workerCount());
            const auto done = walk(source, *placeholder(), [&](const PassRange& range, RunEncoder&) {
                most[range.worker] = std::max(most[range.worker], bestKernels().absMax(range.x, range.n, true));
            });
            if (!done) return done;
            for (const float m : most) absMax_ = std::max(absMax_, double(m));
            for (const float a : source.columnWeights) weight_ = std::max(weight_, double(a));
            elements_ += source.view.info->elements;
        }
        const auto calibration = spec_.effectiveCalibration();
        const double clip = calibration.arguments.empty() ? 1 : calibration.arguments.front();
        scaled_ = spec_.scaleKind() != ScaleKind::None;
        scale_ = scaled_ ? clip * absMax_ : 1;
        value_ = scaled_ ? 1 / clip : absMax_;
        digits_ = std::exp2(61 - std::bit_width(std::max<std::uint64_t>(1, elements_)));
        return {};
    }
    bool nothing() const { return !(absMax_ > 0); }
    double valueUnit() const { return value_ * 1.001; }

    Result<Sums> bins() {
        return sum(kBins, *placeholder(),
                   [](float v, std::uint8_t) { return std::size_t(std::bit_cast<std::uint32_t>(v) >> kBinShift); });
    }
    Result<Sums> codes(const LearnedLevels& levels) {
        return sum(levels.levels.size(), levels, [](float, std::uint8_t code) { return std::size_t(code); });
    }

private:
    std::shared_ptr<const LearnedLevels> placeholder() const {
        static const auto levels = std::make_shared<const LearnedLevels>(withBoundaries({-1, 1}));
        return levels;
    }
    Result<void> walk(const LearnSource& source, const LearnedLevels& levels,
                      const std::function<void(const PassRange&, RunEncoder&)>& body) const {
        const auto grid = scaleGrid(spec_, *source.view.info);
        if (!grid) return tl::unexpected(grid.error());
        const auto pass =
            TensorPass::prepare(source.view, plan_, *grid, job_, std::make_shared<const LearnedLevels>(levels));
        if (!pass) return tl::unexpected(pass.error());
        auto encoders = pass->encoders(source.view.info->dtype);
        return pass->run(0, pass->units(), job_, [&](const PassRange& range) { body(range, encoders[range.worker]); });
    }

    template<class Index> Result<Sums> sum(std::size_t size, const LearnedLevels& levels, const Index& index) {
        std::vector<Sums> workers(workerCount());
        for (const LearnSource& source : sources_) {
            const auto features = std::size_t(std::max<std::int64_t>(1, source.view.info->lastAxis()));
            const bool inputsFirst = isInputsFirst(*source.view.info);
            const auto inputOf = [&](std::uint64_t i) { return inputsFirst ? i / features : i % features; };
            const auto done = walk(source, levels, [&](const PassRange& range, RunEncoder& encoder) {
                Sums& sums = workers[range.worker];
                if (sums.w.empty()) sums.w.resize(size), sums.x.resize(size);
                const std::size_t group = std::max<std::size_t>(1, range.run.group);
                std::vector<std::uint8_t> codes(range.n);
                std::vector<float> scales((range.n + group - 1) / group);
                RunOut out;
                out.codes = codes.data(), out.scales = scales.data();
                encoder(range.run, out);
                const double digits = digits_, unit = 1 / valueUnit();
                for (std::size_t i = 0; i < range.n; ++i) {
                    const float scale = scales[i / group];
                    const float v = scaled_ ? range.x[i] / (scale + FLT_MIN) : range.x[i];
                    // An infinite scale is of a group that the policy refuses.
                    if (!std::isfinite(range.x[i]) || !std::isfinite(scale) || !(scale > 0)) continue;
                    double weight = double(scale) / scale_;
                    weight *= weight;
                    if (!source.columnWeights.empty())
                        weight *= double(source.columnWeights[inputOf(range.begin + i)]) / weight_;
                    const std::size_t at = index(v, codes[i]);
                    sums.w[at] += std::uint64_t(std::llrint(weight * digits));
                    sums.x[at] += std::llrint(weight * digits * (double(v) * unit));
                }
            });
            if (!done) return tl::unexpected(done.error());
        }
        Sums all;
        all.w.resize(size), all.x.resize(size);
        for (const Sums& one : workers)
            if (!one.w.empty()) all.add(one);
        return all;
    }

    std::span<const LearnSource> sources_;
    const QuantSpec& spec_;
    SharedPlan plan_;
    const Job& job_;
    double absMax_ = 0, weight_ = 0, scale_ = 1, value_ = 1, digits_ = 1;
    bool scaled_ = true;
    std::uint64_t elements_ = 0;
};

/// Bins around their means: as wide as the mean leaves room for.
Density densityOf(const Sums& sums, double unit) {
    std::vector<DensityCell> cells;
    const auto cell = [&](std::size_t bin) {
        if (sums.w[bin] == 0) return;
        const auto edge = [](std::size_t b) {
            return double(std::bit_cast<float>(std::uint32_t(b % (kBins / 2)) << kBinShift));
        };
        const double sign = bin < kBins / 2 ? 1 : -1, inner = edge(bin), outer = edge(bin + 1);
        const double mass = double(sums.w[bin]), mean = sign * double(sums.x[bin]) / mass * unit;
        const double half = std::clamp(std::min(mean - inner, outer - mean), 0.0, outer - inner);
        const double at = std::clamp(mean, inner, outer);
        if (sign > 0)
            cells.push_back({at - half, at + half, mass});
        else
            cells.push_back({-at - half, -at + half, mass});
    };
    for (std::size_t bin = kBins; bin-- > kBins / 2;) cell(bin);
    for (std::size_t bin = 0; bin < kBins / 2; ++bin) cell(bin);
    return Density(std::move(cells));
}

std::vector<float> toFloats(const std::vector<double>& levels) {
    std::vector<float> out(levels.begin(), levels.end());
    std::ranges::sort(out);
    return out;
}

} // namespace

LearnedLevels withBoundaries(std::vector<float> levels) {
    LearnedLevels out;
    out.boundaries = boundariesBetween(levels);
    out.zeroCode = int(std::lower_bound(out.boundaries.begin(), out.boundaries.end(), 0.0f) - out.boundaries.begin());
    out.levels = std::move(levels);
    return out;
}

bool isLearned(const QuantSpec& spec) { return !spec.traits().bitWidths.empty(); }
const FormatTraits& learnedFormat() {
    return *std::find_if(formats().begin(), formats().end(), [](const auto& f) { return !f.bitWidths.empty(); });
}

void useLevels(Run& run, const LearnedLevels& levels) {
    run.levels = levels.levels.data(), run.levelCount = int(levels.levels.size());
    run.boundaries = levels.boundaries.data();
    run.zeroCode = levels.zeroCode;
}

Result<LearnedLevels> learnLevels(std::span<const LearnSource> sources, const QuantSpec& spec, const Job& job) {
    const std::size_t count = std::size_t(1) << spec.codeBits();
    Gatherer gatherer(sources, spec, job);
    if (auto range = gatherer.measureRange(); !range) return tl::unexpected(range.error());
    if (gatherer.nothing()) return withBoundaries(std::vector<float>(count));
    const auto bins = gatherer.bins();
    if (!bins) return tl::unexpected(bins.error());
    const Density density = densityOf(*bins, gatherer.valueUnit());
    if (density.empty()) return withBoundaries(std::vector<float>(count));
    const auto start = lloydMax(density, bestLevelsOfPieces(density, count));
    LearnedLevels levels = withBoundaries(toFloats(start));
    for (int round = 0; round < kRefinements; ++round) {
        const auto sums = gatherer.codes(levels);
        if (!sums) return tl::unexpected(sums.error());
        std::vector<double> means(levels.levels.begin(), levels.levels.end());
        for (std::size_t k = 0; k < count; ++k)
            if (sums->w[k] > 0) means[k] = double(sums->x[k]) / double(sums->w[k]) * gatherer.valueUnit();
        levels = withBoundaries(toFloats(means));
    }
    return levels;
}

Result<std::shared_ptr<const LearnedLevels>> levelsOf(const TensorView& view, const QuantSpec& spec, const Job& job) {
    struct Known {
        std::weak_ptr<MappedFile> file;
        std::uint64_t offset;
        TensorShape shape; ///< an empty tensor has the offset of the one behind it
        std::int64_t written;
        std::string spec;
        std::shared_ptr<const LearnedLevels> levels;
    };
    static std::mutex mutex;
    static std::list<Known> known;
    QuantSpec same = spec;
    same.nan.reset(); // it changes no level
    const std::string text = canonicalText(same);
    const auto isThis = [&](const Known& one) {
        return one.file.lock() == view.file && one.offset == view.info->offset && one.shape == view.info->shape &&
               one.spec == text && one.written == view.file->mtimeNs();
    };
    if (view.file) {
        const std::lock_guard lock(mutex);
        if (const auto at = std::ranges::find_if(known, isThis); at != known.end()) {
            known.splice(known.begin(), known, at);
            return known.front().levels;
        }
    }
    const LearnSource source{view};
    auto learned = learnLevels(std::span(&source, 1), spec, job);
    if (!learned) return tl::unexpected(learned.error());
    auto levels = std::make_shared<const LearnedLevels>(std::move(*learned));
    if (view.file) {
        const std::lock_guard lock(mutex);
        known.push_front({view.file, view.info->offset, view.info->shape, view.file->mtimeNs(), text, levels});
        if (known.size() > kKept) known.pop_back();
    }
    return levels;
}

} // namespace qs
