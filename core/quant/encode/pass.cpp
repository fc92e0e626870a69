// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/quant/encode/pass.h"

#include "core/base/parallel.h"
#include "core/model/derived_tensor.h"
#include "core/model/gguf/packed_type.h"
#include "core/model/mapped_file.h"
#include "core/quant/spec/dialect.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs {
namespace {

constexpr std::uint64_t kKeptBounds = std::uint64_t(1) << 20; ///< of groups that are relative to the tensor

std::uint64_t ceilDivide(std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; }

/// Whole rows, or a part of a row that is whole 64-element pieces.
std::uint64_t rowAligned(std::uint64_t features) { return features <= kChunk ? kChunk / features * features : kChunk; }

/// Scales of long groups, columns and tiles; a tensor's own scale is set by the largest of all bounds.
Result<std::vector<GroupParams>> paramsOfBounds(const TensorView& view, SharedPlan& plan, const ScaleGrid& grid,
                                                const Job& job) {
    const auto bounds = measureBounds(view, plan, grid, job);
    if (!bounds) return tl::unexpected(bounds.error());
    float largest = 0;
    for (const GroupBound& bound : *bounds) largest = std::max(largest, bound.high);
    if (plan->needsTensorScale()) plan = plan->withTensorBound(largest);
    std::vector<GroupParams> params;
    params.reserve(bounds->size());
    for (const GroupBound& bound : *bounds) params.push_back(plan->params(bound));
    return params;
}

} // namespace

std::int64_t stridedScaleIndex(const ScaleGrid& grid, std::span<const std::int64_t> shape, std::int64_t row) {
    std::int64_t index = 0, stride = shape.empty() ? 1 : grid.scaleShape.back();
    for (std::size_t axis = shape.size() - 1; axis-- > 0;) {
        const std::int64_t at = row % shape[axis];
        row /= shape[axis];
        index += at / (shape[axis] / grid.scaleShape[axis]) * stride;
        stride *= grid.scaleShape[axis];
    }
    return index;
}

std::int64_t columnsPerScale(const ScaleGrid& grid) {
    return grid.scaleShape.empty() ? grid.features : grid.features / std::max<std::int64_t>(1, grid.scaleShape.back());
}

TensorView forScan(const TensorView& view, std::uint64_t mapped) {
    if (!view.file || !view.file->isMapped() || view.info->bytes <= mapped) return view;
    const auto again = MappedFile::open(view.file->path(), FileAccess::Pread);
    const bool same = again && (*again)->inode() == view.file->inode() && (*again)->device() == view.file->device() &&
                      (*again)->size() == view.file->size();
    return same ? TensorView{view.info, {}, *again} : view; // the mapping's own checks say what happened
}

void releasePages(const Model& model, const TensorInfo& tensor) {
    if (tensor.derived) return tensor.derived->release();
    if (tensor.file < model.files.size() && model.files[tensor.file].mapping)
        model.files[tensor.file].mapping->dropPages(tensor.offset, tensor.bytes);
}

void populate(const TensorView& view, std::uint64_t begin, std::uint64_t end) {
    if (!view.file || !view.file->isMapped()) return;
    const auto bytes = bytesOfElements(*view.info, begin, end);
    view.file->populate(view.info->offset + bytes.begin, bytes.end - bytes.begin);
}

TensorPass::TensorPass(const TensorView& view, SharedPlan plan, const ScaleGrid& grid)
    : view_(forScan(view)), plan_(std::move(plan)), grid_(grid), run_(plan_->run()), shape_(view.info->shape),
      largestTaken_(largestTaken(plan_->spec())) {
    const QuantSpec& spec = plan_->spec();
    elements_ = std::uint64_t(grid.rows) * std::uint64_t(grid.features);
    if (elements_ == 0) return;
    const auto features = std::uint64_t(grid.features), group = std::uint64_t(grid.group);
    longGroups_ = grid.kind == ScaleKind::None || !grid.contiguous || grid.group > kLongGroup;
    const bool few = std::uint64_t(grid.scales) <= kKeptBounds;
    const bool ofTensor = !longGroups_ && grid.kind != ScaleKind::None && hasTensorScale(spec);
    relative_ = (ofTensor && !few) || isDoubleQuantized(spec);
    shares_ = longGroups_ || (ofTensor && few);
    segment_ = elements_;
    unit_ = rowAligned(features);
    rowByRow_ = !grid.contiguous;
    if (longGroups_) {
        if (grid.contiguous && grid.kind != ScaleKind::None) segment_ = group;
        if (features > kChunk) segment_ = features;
        const auto columns = std::uint64_t(grid.contiguous ? 1 : columnsPerScale(grid));
        if (features > kChunk && columns < features) unit_ = std::max<std::uint64_t>(1, kChunk / columns) * columns;
    } else if (features % group == 0 || grid.kind != ScaleKind::Block) {
        const std::uint64_t whole = group <= features && features <= kChunk ? features : group;
        unit_ = std::max<std::uint64_t>(1, kChunk / whole) * whole;
        if (features > kChunk && group <= features) segment_ = features;
    } else if (features > kChunk) {
        segment_ = features;
        unit_ = std::max<std::uint64_t>(1, kChunk / group) * group;
    } else {
        rowByRow_ = true;
    }
    segments_ = elements_ / segment_;
    unitsPerSegment_ = ceilDivide(segment_, unit_);
}

Result<TensorPass> TensorPass::prepare(const TensorView& view, SharedPlan plan, const ScaleGrid& grid, const Job& job,
                                       std::shared_ptr<const LearnedLevels> levels,
                                       std::shared_ptr<const TensorScales> scales) {
    TensorPass pass(view, plan, grid);
    const QuantSpec& spec = plan->spec();
    if (!levels && isLearned(spec)) {
        auto learned = levelsOf(view, spec, job);
        if (!learned) return tl::unexpected(learned.error());
        levels = std::move(*learned);
    }
    if (levels) useLevels(pass.run_, *levels);
    pass.learned_ = std::move(levels);
    if (pass.relative_) {
        pass.scales_ = std::move(scales);
        if (auto measured = pass.measureTensor(job); !measured) return tl::unexpected(measured.error());
    }
    if (!pass.shares_) return pass;
    if (plan->isPlain() && (grid.contiguous || !spec.tiles)) {
        auto shared = measureSharedParams(pass.view_, *plan, grid, job);
        if (!shared) return tl::unexpected(shared.error());
        pass.shared_ = std::move(*shared);
    } else {
        auto params = paramsOfBounds(pass.view_, plan, grid, job);
        if (!params) return tl::unexpected(params.error());
        pass.shared_ = std::move(*params);
        pass.tensorScale_ = plan->needsTensorScale() ? plan->tensorScale() : 1.0f;
    }
    if (auto read = pass.allWasRead(); !read) return tl::unexpected(read.error());
    return pass;
}

// Very many scales are measured twice, and none is kept.
Result<void> TensorPass::measureTensor(const Job& job) {
    if (!scales_) {
        TensorScales found;
        if (isDoubleQuantized(plan_->spec())) {
            NestedGridOf nested{std::uint64_t(grid_.scales)};
            std::vector<float> some;
            const auto done = eachParams(view_.info->dtype, kKeptBounds, job, [&](auto params) -> Result<void> {
                some.resize(params.size());
                std::transform(params.begin(), params.end(), some.begin(), [](const auto& p) { return p.scale; });
                nested.add(some);
                return {};
            });
            if (!done) return done;
            found.nested = nested.grid();
        } else {
            std::vector<float> largest(workerCount(), 0.0f);
            const auto done = run(0, units(), job, [&](const PassRange& range) {
                thread_local std::vector<GroupBound> bounds;
                bounds.resize((range.n + range.run.group - 1) / range.run.group);
                plan_->bounds(range.run, bounds.data());
                float& most = largest[range.worker];
                for (const GroupBound& bound : bounds) most = std::max(most, bound.high);
            });
            if (!done) return done;
            found.largest = *std::ranges::max_element(largest);
        }
        scales_ = std::make_shared<const TensorScales>(std::move(found));
    }
    tensorScale_ = plan_->needsTensorScale() ? plan_->withTensorBound(scales_->largest)->tensorScale() : 1.0f;
    return {};
}

std::vector<RunEncoder> TensorPass::encoders(DType source) const {
    RunEncoder one(plan_, source, scales_);
    const bool isSure = std::ranges::all_of(shared_, [&](const GroupParams& p) { return plan_->decodesFinite(p); });
    one.watchOverflow(overflow_, !isSure && areUsable(*plan_, shared_));
    return std::vector<RunEncoder>(workerCount(), one);
}

std::uint64_t TensorPass::groupOf(std::uint64_t element) const {
    const auto features = std::uint64_t(grid_.features), group = std::uint64_t(grid_.group);
    if (grid_.kind != ScaleKind::Block) return ceilDivide(element, group);
    return element / features * ceilDivide(features, group) + ceilDivide(element % features, group);
}

Result<void> TensorPass::eachParams(DType source, std::uint64_t most, const Job& job,
                                    const std::function<Result<void>(std::span<const GroupParams>)>& take) const {
    auto all = encoders(source);
    std::vector<GroupParams> params;
    for (std::uint64_t first = 0, last = 0; first < units(); first = last) {
        const std::uint64_t begin = groupOf(unitBegin(first));
        do ++last;
        while (last < units() && groupOf(unitBegin(last)) - begin < most);
        params.assign(std::size_t(groupOf(unitBegin(last)) - begin), {});
        const auto done = run(first, last, job, [&](const PassRange& range) {
            all[range.worker].params(range.run, params.data() + (range.firstGroup - begin));
        });
        if (!done) return done;
        if (auto taken = take(params); !taken) return taken;
    }
    return {};
}

TensorPass TensorPass::given(const TensorView& view, SharedPlan plan, const ScaleGrid& grid,
                             std::vector<GroupParams> params, float tensorScale,
                             std::shared_ptr<const LearnedLevels> levels) {
    TensorPass pass(view, std::move(plan), grid);
    if (levels) useLevels(pass.run_, *levels);
    pass.learned_ = std::move(levels);
    pass.shares_ = true;
    pass.shared_ = std::move(params);
    pass.tensorScale_ = tensorScale;
    return pass;
}

Result<void> TensorPass::allWasRead() const {
    if (view_.info->derived) return view_.info->derived->unchanged();
    if (view_.file && view_.file->faulted()) return view_.file->unchanged();
    return {};
}

std::uint64_t TensorPass::unitBegin(std::uint64_t unit) const {
    if (unit >= units()) return elements_;
    return unit / unitsPerSegment_ * segment_ + unit % unitsPerSegment_ * unit_;
}

// One call per row where groups end with rows or scales follow columns, else one for the whole unit.
void TensorPass::runUnit(std::uint64_t unit, const float* x, PassRange& range,
                         const std::function<void(const PassRange&)>& body) const {
    const std::uint64_t begin = unitBegin(unit), end = unitBegin(unit + 1);
    const auto features = std::uint64_t(grid_.features), group = std::uint64_t(grid_.group);
    const std::uint64_t groupsPerRow = ceilDivide(features, group);
    for (std::uint64_t at = begin; at < end;) {
        const std::uint64_t row = at / features;
        const std::uint64_t stop = rowByRow_ ? std::min(end, (row + 1) * features) : end;
        range.begin = at;
        range.n = stop - at;
        range.x = x + (at - begin);
        range.run.x = range.x;
        range.run.n = range.n;
        range.run.group = group;
        range.run.index = at;
        range.firstGroup = grid_.kind == ScaleKind::Block ? row * groupsPerRow + at % features / group : at / group;
        if (!grid_.contiguous) {
            const auto columns = std::uint64_t(columnsPerScale(grid_));
            range.run.given =
                shared_.data() + stridedScaleIndex(grid_, shape_, std::int64_t(row)) + at % features / columns;
            range.run.givenStride = columns < features ? 1 : 0;
            range.run.group = columns < features ? columns : range.n;
            range.firstGroup = 0;
        } else if (shares_ && !longGroups_ && !shared_.empty()) {
            range.run.given = shared_.data() + range.firstGroup;
            range.run.givenStride = 1;
        } else if (longGroups_) {
            range.run.given = shared_.data() + (grid_.kind == ScaleKind::None ? 0 : range.firstGroup);
            range.run.givenStride = 0;
            range.run.group = range.n;
        }
        body(range);
        at = stop;
    }
}

Result<void> TensorPass::run(std::uint64_t first, std::uint64_t last, const Job& job,
                             const std::function<void(const PassRange&)>& body) const {
    const float* direct = directF32(view_);
    const std::uint64_t grain = std::max<std::uint64_t>(1, ceilDivide(units(), kMaxPieces));
    const std::size_t largest = std::min<std::uint64_t>(unit_, elements_);
    std::vector<std::vector<float>> scratch(workerCount());
    parallelFor(last - first, grain, [&](std::size_t from, std::size_t to, unsigned worker) {
        PassRange range;
        range.run = run_;
        range.worker = worker;
        range.piece = std::size_t((first + from) / grain);
        auto& buffer = scratch[worker];
        if (!direct && buffer.empty()) buffer.resize(largest);
        for (std::uint64_t unit = first + from; unit < first + to; ++unit) {
            if (job.cancelled()) return;
            const std::uint64_t begin = unitBegin(unit), end = unitBegin(unit + 1);
            populate(view_, begin, end);
            if (!direct) loadF32(view_, begin, end - begin, buffer.data());
            const float* x = direct ? direct + begin : buffer.data();
            if (nonFinite_ && !(bestKernels().absMax(x, std::size_t(end - begin), false) <= largestTaken_))
                nonFinite_->store(true, std::memory_order_relaxed);
            runUnit(unit, x, range, body);
        }
    });
    if (job.cancelled()) return cancelledError();
    if (nonFinite_ && nonFinite_->load(std::memory_order_relaxed))
        return fail(tensorPlace(*view_.info) + " holds values that are not taken");
    if (overflow_->load(std::memory_order_relaxed)) {
        if (nonFinite_) nonFinite_->store(true, std::memory_order_relaxed);
        return tl::unexpected(overflowError(*view_.info, plan_->spec()));
    }
    return allWasRead();
}

Result<void> forEachRange(const TensorView& view, const QuantSpec& spec, const ScaleGrid& grid, const Job& job,
                          const std::function<void(const PassRange&)>& body) {
    const auto pass = TensorPass::prepare(view, composedPlan(spec), grid, job);
    if (!pass) return tl::unexpected(pass.error());
    return pass->run(0, pass->units(), job, body);
}

} // namespace qs
