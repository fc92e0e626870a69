// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/quant/pass.h"

#include "core/base/parallel.h"
#include "core/model/derived_tensor.h"
#include "core/model/mapped_file.h"
#include "core/model/packed_type.h"

#include <algorithm>

namespace qs {
namespace {

constexpr std::uint64_t kKeptBounds = std::uint64_t(1) << 20;

std::uint64_t ceilDivide(std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; }

/// Whole rows, or a part of a row that is whole 64-element pieces.
std::uint64_t rowAligned(std::uint64_t features) { return features <= kChunk ? kChunk / features * features : kChunk; }

/// Scales of long groups, columns and tiles; a tensor's own scale is set by the largest of all bounds.
Result<std::vector<GroupParams>> paramsOfBounds(const TensorView& view, GroupRule& rule, const QuantSpec& spec,
                                                const ScaleGrid& grid, const Job& job) {
    const auto bounds = measureBounds(view, rule, spec, grid, job);
    if (!bounds) return tl::unexpected(bounds.error());
    float largest = 0;
    for (const GroupBound& bound : *bounds) largest = std::max(largest, bound.high);
    if (rule.needsTensorScale()) rule.setTensorBound(largest);
    std::vector<GroupParams> params;
    params.reserve(bounds->size());
    for (const GroupBound& bound : *bounds) params.push_back(rule.params(bound));
    return params;
}

/// The same of groups that ranges hold whole, without keeping their bounds: where there are very many, they are
/// measured twice for a tensor's own scale.
Result<std::vector<GroupParams>> paramsOfGroups(const TensorPass& pass, GroupRule& rule, std::size_t groups,
                                                const Job& job) {
    const auto each = [&](auto&& take) {
        return pass.run(0, pass.units(), job, [&](const PassRange& range) {
            thread_local std::vector<GroupBound> bounds;
            bounds.resize((range.n + range.run.group - 1) / range.run.group);
            rule.bounds(range.run, bounds.data());
            take(range, std::span<const GroupBound>(bounds));
        });
    };
    if (rule.needsTensorScale()) {
        std::vector<float> largest(workerCount(), 0.0f);
        const auto done = each([&](const PassRange& range, std::span<const GroupBound> bounds) {
            float& most = largest[range.worker];
            for (const GroupBound& bound : bounds) most = std::max(most, bound.high);
        });
        if (!done) return tl::unexpected(done.error());
        rule.setTensorBound(*std::max_element(largest.begin(), largest.end()));
    }
    std::vector<GroupParams> params(groups, rule.params({}));
    const auto done = each([&](const PassRange& range, std::span<const GroupBound> bounds) {
        for (std::size_t i = 0; i < bounds.size(); ++i) params[range.firstGroup + i] = rule.params(bounds[i]);
    });
    if (!done) return tl::unexpected(done.error());
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

TensorPass::TensorPass(const TensorView& view, const QuantSpec& spec, const ScaleGrid& grid)
    : view_(forScan(view)), grid_(grid), run_(runOf(spec)), shape_(view.info->shape) {
    elements_ = std::uint64_t(grid.rows) * std::uint64_t(grid.features);
    if (elements_ == 0) return;
    const auto features = std::uint64_t(grid.features), group = std::uint64_t(grid.group);
    longGroups_ = grid.kind == ScaleKind::None || !grid.contiguous || grid.group > kLongGroup;
    shares_ = longGroups_ || (grid.kind != ScaleKind::None && (hasTensorScale(spec) || isDoubleQuantized(spec)));
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

Result<TensorPass> TensorPass::prepare(const TensorView& view, const QuantSpec& spec, const ScaleGrid& grid,
                                       const Job& job, std::shared_ptr<const LearnedLevels> levels) {
    TensorPass pass(view, spec, grid);
    if (!levels && isLearned(spec)) {
        auto learned = levelsOf(view, spec, job);
        if (!learned) return tl::unexpected(learned.error());
        levels = std::move(*learned);
    }
    if (levels) useLevels(pass.run_, *levels);
    pass.learned_ = std::move(levels);
    if (!pass.shares_) return pass;
    GroupRule rule(spec);
    if (rule.isPlain() && (grid.contiguous || !spec.tiles)) {
        auto shared = measureSharedParams(pass.view_, spec, grid, job);
        if (!shared) return tl::unexpected(shared.error());
        pass.shared_ = std::move(*shared);
    } else {
        const bool keeps = pass.longGroups_ || (rule.needsTensorScale() && std::uint64_t(grid.scales) <= kKeptBounds);
        auto params = keeps ? paramsOfBounds(pass.view_, rule, spec, grid, job)
                            : paramsOfGroups(pass, rule, std::size_t(grid.scales), job);
        if (!params) return tl::unexpected(params.error());
        pass.shared_ = std::move(*params);
        pass.tensorScale_ = rule.needsTensorScale() ? rule.tensorScale() : 1.0f;
        if (isDoubleQuantized(spec)) pass.nestScales(spec);
    }
    if (auto read = pass.allWasRead(); !read) return tl::unexpected(read.error());
    return pass;
}

TensorPass TensorPass::given(const TensorView& view, const QuantSpec& spec, const ScaleGrid& grid,
                             std::vector<GroupParams> params, float tensorScale,
                             std::shared_ptr<const LearnedLevels> levels) {
    TensorPass pass(view, spec, grid);
    if (levels) useLevels(pass.run_, *levels);
    pass.learned_ = std::move(levels);
    pass.shares_ = true;
    pass.shared_ = std::move(params);
    pass.tensorScale_ = tensorScale;
    return pass;
}

// Codes are chosen by the maxima as they were, and decoded with what is stored of them.
void TensorPass::nestScales(const QuantSpec& spec) {
    if (!shared_.empty() && elements_ % spec.blockSize() != 0)
        shared_.back().scale = std::max(shared_.back().scale, kLeastAbsMax);
    {
        std::vector<float> scales(shared_.size());
        std::transform(shared_.begin(), shared_.end(), scales.begin(), [](const GroupParams& p) { return p.scale; });
        nested_ = std::make_shared<const NestedScales>(qs::nestScales(scales));
    }
    const auto map = dynamicMap();
    for (std::size_t i = 0; i < shared_.size(); ++i)
        shared_[i].scale = map[nested_->codes[i]] * nested_->absMax[i / kNestedBlock] + nested_->offset;
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
            runUnit(unit, direct ? direct + begin : buffer.data(), range, body);
        }
    });
    if (job.cancelled()) return cancelledError();
    return allWasRead();
}

Result<void> forEachRange(const TensorView& view, const QuantSpec& spec, const ScaleGrid& grid, const Job& job,
                          const std::function<void(const PassRange&)>& body) {
    const auto pass = TensorPass::prepare(view, spec, grid, job);
    if (!pass) return tl::unexpected(pass.error());
    return pass->run(0, pass->units(), job, body);
}

} // namespace qs
