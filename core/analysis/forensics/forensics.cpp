// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/forensics/forensics.h"

#include "core/analysis/forensics/block_cause.h"
#include "core/base/decibel.h"
#include "core/base/text.h"
#include "core/model/mapped_file.h"
#include "core/quant/encode/pass.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <mutex>

namespace qs {
namespace {

/// Results of a pass over the whole tensor.
struct Shared {
    std::vector<GroupParams> params;
    std::shared_ptr<const LearnedLevels> levels;
    std::shared_ptr<const TensorScales> scales;
};
using SharedParams = std::shared_ptr<const Shared>;

/// Results that need a pass over the whole tensor. The last ones are cached, because a moving mouse asks for them
/// often.
Result<SharedParams> sharedParams(const TensorView& view, const SharedPlan& plan, const ScaleGrid& grid) {
    static std::mutex mutex;
    static std::string lastKey;
    static SharedParams last;
    static std::weak_ptr<const DerivedTensor> lastDerived; // a derived tensor has no file or offset to identify it
    const std::int64_t written = view.file ? view.file->mtimeNs() : 0;
    const std::string key =
        fmt::format("{}|{}|{}|{}|{}|{}", static_cast<const void*>(view.file.get()), view.file ? view.file->inode() : 0,
                    view.info->offset, written, view.info->name, canonicalText(plan->spec()));
    {
        const std::lock_guard lock(mutex);
        if (key == lastKey && lastDerived.lock() == view.info->derived) return last;
    }
    const auto pass = TensorPass::prepare(view, plan, grid, Job{});
    if (!pass) return tl::unexpected(pass.error());
    const std::lock_guard lock(mutex);
    lastKey = key;
    lastDerived = view.info->derived;
    last = std::make_shared<const Shared>(Shared{pass->shared(), pass->learned(), pass->scales()});
    return last;
}

/// The scale of a block: from the shared parameters, from the block itself, or from the rows that share its scale.
Result<GroupParams> blockParams(const TensorView& view, const SharedPlan& plan, const ScaleGrid& grid,
                                std::uint64_t begin, const std::vector<float>& values) {
    const auto shared = sharedParams(view, plan, grid);
    if (!shared) return tl::unexpected(shared.error());
    const auto group = std::uint64_t(grid.group), features = std::uint64_t(grid.features);
    const std::uint64_t perRow = (features + group - 1) / group;
    const std::uint64_t index =
        grid.kind == ScaleKind::Block ? begin / features * perRow + begin % features / group : begin / group;
    if (!(*shared)->params.empty()) return (*shared)->params[grid.kind == ScaleKind::None ? 0 : index];
    std::vector<float> around;
    const std::vector<float>* all = &values;
    if (grid.kind != ScaleKind::Block && group > values.size()) {
        around.resize(group);
        loadF32(view, begin / group * group, group, around.data());
        all = &around;
    }
    Run run = plan->run();
    run.index = begin;
    return RunEncoder(plan, view.info->dtype, (*shared)->scales).params(run, all->data(), all->size());
}

/// Measures one group of a format whose storage blocks contain several groups: it encodes the whole storage block.
ErrorSums measureInBlock(const TensorView& view, const SharedPlan& plan, const ScaleGrid& grid, BlockForensics& out) {
    const BlockCodec& codec = *codecOf(plan->spec());
    const std::size_t n = codec.elements, at = out.firstElement % n, group = std::size_t(grid.group);
    std::vector<float> values(n), decoded(n), scales(n / group);
    std::vector<std::uint8_t> codes(n);
    loadF32(view, out.firstElement - at, n, values.data());
    Run run = plan->run();
    run.x = values.data(), run.n = n, run.group = group;
    RunOut wanted;
    wanted.codes = codes.data(), wanted.decoded = decoded.data(), wanted.scales = scales.data();
    RunEncoder(plan, view.info->dtype)(run, wanted);
    std::copy_n(codes.begin() + std::ptrdiff_t(at), group, out.codes.begin());
    std::copy_n(decoded.begin() + std::ptrdiff_t(at), group, out.decoded.begin());
    out.scale = scales[at / group];
    ErrorSums sums;
    for (std::size_t i = 0; i < group; ++i) {
        if (!std::isfinite(out.values[i])) continue;
        const double w = double(out.values[i]), e = double(out.decoded[i]) - w;
        sums.se2 += e * e, sums.sw2 += w * w;
    }
    return sums;
}

} // namespace

Result<BlockForensics> inspectBlock(const Model& model, const TensorInfo& tensor, const QuantSpec& asked,
                                    std::int64_t row, std::int64_t block) {
    if (auto ok = checkQuantizable(tensor); !ok) return tl::unexpected(ok.error());
    const SharedPlan plan = composedPlan(forTensor(asked, tensor));
    const QuantSpec& spec = plan->spec();
    const auto grid = scaleGrid(spec, tensor.shape);
    if (!grid) return tl::unexpected(grid.error());
    const std::int64_t length =
        grid->kind == ScaleKind::Block ? grid->group : std::clamp<std::int64_t>(grid->features, 1, 64);
    const std::int64_t perRow = (grid->features + length - 1) / length;
    if (row < 0 || row >= grid->rows || block < 0 || block >= perRow)
        return fail(fmt::format("tensor '{}' has {} rows of {} blocks: there is no block {} in row {}",
                                escapeForPeople(tensor.name), grid->rows, perRow, block, row));
    const auto view = model.view(tensor);
    if (!view) return tl::unexpected(view.error());

    BlockForensics out;
    out.row = row, out.block = block;
    out.firstElement = std::uint64_t(row * grid->features + block * length);
    const auto n = std::size_t(std::min(length, grid->features - block * length));
    out.values.resize(n), out.decoded.resize(n), out.codes.resize(n);
    loadF32(*view, out.firstElement, n, out.values.data());

    ErrorSums sums;
    if (codecOf(spec)) {
        sums = measureInBlock(*view, plan, *grid, out);
    } else {
        Run run = plan->run();
        run.x = out.values.data(), run.n = n, run.group = n, run.index = out.firstElement;
        const auto shared = sharedParams(*view, plan, *grid);
        if (!shared) return tl::unexpected(shared.error());
        if ((*shared)->levels) useLevels(run, *(*shared)->levels);
        std::vector<GroupParams> given(1);
        if (grid->contiguous) {
            const auto params = blockParams(*view, plan, *grid, out.firstElement, out.values);
            if (!params) return tl::unexpected(params.error());
            given[0] = *params;
        } else {
            const std::int64_t columns = columnsPerScale(*grid);
            const bool along = columns == 1;
            const auto base =
                (*shared)->params.begin() + stridedScaleIndex(*grid, tensor.shape, row) + block * length / columns;
            given.assign(base, base + (along ? std::ptrdiff_t(n) : 1));
            if (along) run.group = 1, run.givenStride = 1;
        }
        run.given = given.data();
        out.scale = given[0].scale;
        RunOut wanted;
        wanted.codes = out.codes.data(), wanted.decoded = out.decoded.data(), wanted.sums = &sums;
        RunEncoder(plan, tensor.dtype)(run, wanted);
    }
    if (spec.traits().levels.empty()) out.codes.clear();
    out.absMax = double(bestKernels().absMax(out.values.data(), n, true));
    out.nmse = sums.sw2 > 0 ? sums.se2 / sums.sw2 : sums.se2 == 0 ? 0.0 : std::nan("");
    out.sqnrDb = sqnrDb(out.nmse).value_or(std::nan(""));

    std::vector<float> neighbours(std::size_t(std::min<std::int64_t>(grid->features, kLongGroup)));
    const std::int64_t start =
        std::clamp<std::int64_t>(block * length - kLongGroup / 2, 0, grid->features - std::int64_t(neighbours.size()));
    loadF32(*view, std::uint64_t(row * grid->features + start), neighbours.size(), neighbours.data());
    const BlockCause cause =
        causeOf(out.values, double(bestKernels().absMax(neighbours.data(), neighbours.size(), true)));
    out.cause = cause.name, out.causeTip = cause.tip;
    if (auto same = model.unchanged(tensor); !same) return tl::unexpected(same.error());
    return out;
}

Result<DecodeComparison> compareDecodes(const Model& model, const TensorInfo& tensor, const QuantSpec& spec,
                                        const Job& job) {
    if (spec.traits().polyLevels.empty())
        return fail(fmt::format("{} has one decode only: compare decodes with nf4", spec.format));
    DecodeComparison out;
    AnalysisOptions options;
    options.statistics = false;
    for (const Decode decode : {Decode::Table, Decode::Poly}) {
        QuantSpec variant = spec;
        variant.decode = decode;
        const auto row = analyseTensor(model, tensor, variant, options, job);
        if (!row) return tl::unexpected(row.error());
        if (row->status != Status::Ok) return fail(row->reason);
        (decode == Decode::Table ? out.table : out.poly) = row->sums;
    }
    return out;
}

} // namespace qs
