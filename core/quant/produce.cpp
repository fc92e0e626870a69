// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/quant/produce.h"

#include "core/base/parallel.h"
#include "core/base/text.h"
#include "core/quant/code_set.h"
#include "core/quant/trained.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <utility>

namespace qs {
namespace {

constexpr std::uint64_t kSlabBytes = std::uint64_t(8) << 20;
constexpr std::uint64_t kSlabGroups = std::uint64_t(1) << 20, kKeptGroups = std::uint64_t(4) << 20;

} // namespace

Result<const TensorPass*> Source::prepared() {
    if (!pass) {
        // Each pass goes over all of it once; rows that are short are many calls.
        const TensorView read = grid.contiguous ? forScan(view, kReadBytes) : view;
        auto made = solved ? passOf(read, spec, grid, *solved, job) : TensorPass::prepare(read, spec, grid, job);
        if (!made) return tl::unexpected(made.error());
        pass.emplace(std::move(*made));
    }
    return &*pass;
}

Result<std::shared_ptr<Source>> makeSource(const TensorView& view, const QuantSpec& spec, const Job& job) {
    if (auto ok = checkQuantizable(*view.info); !ok) return tl::unexpected(ok.error());
    auto grid = scaleGrid(spec, view.info->shape);
    if (!grid) return fail(fmt::format("tensor '{}': {}", escapeForPeople(view.info->name), grid.error().message));
    auto source = std::make_shared<Source>();
    source->view = trainedSource(view, spec).value_or(view), source->spec = spec, source->grid = std::move(*grid),
    source->job = job;
    return source;
}

TensorToWrite scaleTensor(const std::shared_ptr<Source>& source, const char* field) {
    const DType dtype = storedScaleType(source->spec, source->view.info->dtype);
    return {source->view.info->name + field, dtype, source->grid.scaleShape,
            [source, dtype](const TensorToWrite::Sink& sink) -> Result<void> {
                if (isDoubleQuantized(source->spec)) {
                    const auto pass = source->prepared();
                    if (!pass) return tl::unexpected(pass.error());
                    const auto& codes = (*pass)->nested().codes;
                    return codes.empty() ? Result<void>{} : sink(std::as_bytes(std::span(codes)));
                }
                const bool keeps = hasZeroPoints(source->spec) && std::uint64_t(source->grid.scales) <= kKeptGroups;
                return eachParams(*source, [&](std::span<const GroupParams> params) -> Result<void> {
                    if (keeps) source->params.insert(source->params.end(), params.begin(), params.end());
                    std::vector<float> scales(params.size());
                    std::transform(params.begin(), params.end(), scales.begin(), [](const auto& p) { return p.scale; });
                    if (info(dtype).bits > 8) return sinkFloats(sink, dtype, scales);
                    const float unit = source->pass ? source->pass->tensorScale() : 1.0f;
                    std::vector<std::uint8_t> bytes(scales.size());
                    std::transform(scales.begin(), scales.end(), bytes.begin(),
                                   [&](float scale) { return scaleByte(dtype, scale * unit); });
                    return bytes.empty() ? Result<void>{} : sink(std::as_bytes(std::span(bytes)));
                });
            }};
}

TensorToWrite zeroTensor(const std::shared_ptr<Source>& source, const char* field) {
    const DType dtype = storedZeroType(source->spec);
    return {source->view.info->name + field, dtype, source->grid.scaleShape,
            [source, dtype](const TensorToWrite::Sink& sink) -> Result<void> {
                const auto store = [&](std::span<const GroupParams> params) -> Result<void> {
                    if (dtype != DType::I8) {
                        std::vector<float> between(params.size());
                        std::transform(params.begin(), params.end(), between.begin(),
                                       [](const GroupParams& p) { return p.aux; });
                        return sinkFloats(sink, dtype, between);
                    }
                    std::vector<std::int8_t> zeros(params.size());
                    std::transform(params.begin(), params.end(), zeros.begin(),
                                   [](const GroupParams& p) { return std::int8_t(p.aux); });
                    return zeros.empty() ? Result<void>{} : sink(std::as_bytes(std::span(zeros)));
                };
                if (source->params.empty()) return eachParams(*source, store);
                return store(std::exchange(source->params, {}));
            }};
}

TensorToWrite tensorScaleTensor(const std::shared_ptr<Source>& source, const char* field) {
    return {
        source->view.info->name + field, DType::F32, {1}, [source](const TensorToWrite::Sink& sink) -> Result<void> {
            const auto pass = source->prepared();
            if (!pass) return tl::unexpected(pass.error());
            return sinkFloats(sink, DType::F32, {(*pass)->tensorScale()});
        }};
}

Result<std::vector<GroupParams>> measureParams(Source& source) {
    const auto pass = source.prepared();
    if (!pass) return tl::unexpected(pass.error());
    std::vector<GroupParams> params(std::size_t(source.grid.scales));
    const auto& shared = (*pass)->shared();
    if (!shared.empty()) return source.grid.kind == ScaleKind::None ? params : shared;
    std::vector<RunEncoder> encoders(workerCount(), RunEncoder(source.spec, source.view.info->dtype));
    // Groups of an empty tensor have no range; their scale is that of nothing but zeros.
    if (source.view.info->elements == 0)
        std::fill(params.begin(), params.end(), encoders.front().params(runOf(source.spec), nullptr, 0));
    const auto done = (*pass)->run(0, (*pass)->units(), source.job, [&](const PassRange& range) {
        encoders[range.worker].params(range.run, params.data() + range.firstGroup);
    });
    if (!done) return tl::unexpected(done.error());
    return params;
}

Result<void> eachParams(Source& source, const std::function<Result<void>(std::span<const GroupParams>)>& take) {
    const auto prepared = source.prepared();
    if (!prepared) return tl::unexpected(prepared.error());
    const TensorPass& pass = **prepared;
    const ScaleGrid& grid = source.grid;
    const bool inOrder = pass.shared().empty() && grid.contiguous && grid.group > 0 && grid.group <= grid.features &&
                         std::uint64_t(grid.scales) > kSlabGroups;
    if (!inOrder) {
        const auto all = measureParams(source);
        return all ? take(*all) : tl::unexpected(all.error());
    }
    const auto features = std::uint64_t(grid.features), group = std::uint64_t(grid.group);
    const auto groupOf = [&](std::uint64_t element) {
        return element / features * ((features + group - 1) / group) + element % features / group;
    };
    std::vector<RunEncoder> encoders(workerCount(), RunEncoder(source.spec, source.view.info->dtype));
    std::vector<GroupParams> params;
    for (std::uint64_t first = 0, last = 0; first < pass.units(); first = last) {
        const std::uint64_t begin = groupOf(pass.unitBegin(first));
        do ++last;
        while (last < pass.units() && groupOf(pass.unitBegin(last)) - begin < kSlabGroups);
        params.assign(groupOf(pass.unitBegin(last)) - begin, {});
        const auto done = pass.run(first, last, source.job, [&](const PassRange& range) {
            encoders[range.worker].params(range.run, params.data() + (range.firstGroup - begin));
        });
        if (!done) return done;
        if (auto taken = take(params); !taken) return taken;
    }
    return {};
}

Result<void> streamSlabs(Source& source, const TensorToWrite::Sink& sink,
                         const std::function<std::uint64_t(std::uint64_t)>& place,
                         const std::function<void(const PassRange&, RunEncoder&, std::byte*)>& body) {
    const auto prepared = source.prepared();
    if (!prepared) return tl::unexpected(prepared.error());
    const TensorPass& pass = **prepared;
    std::vector<RunEncoder> encoders(workerCount(), RunEncoder(source.spec, source.view.info->dtype));
    std::vector<std::byte> slab;
    for (std::uint64_t first = 0, last = 0; first < pass.units(); first = last) {
        const std::uint64_t begin = place(pass.unitBegin(first));
        do ++last;
        while (last < pass.units() && place(pass.unitBegin(last)) - begin < kSlabBytes);
        slab.resize(place(pass.unitBegin(last)) - begin);
        const auto done = pass.run(first, last, source.job, [&](const PassRange& range) {
            body(range, encoders[range.worker], slab.data() + (place(range.begin) - begin));
        });
        if (!done) return done;
        if (auto written = sink(slab); !written) return written;
    }
    return {};
}

void appendAs(DType dtype, const float* values, std::size_t n, std::byte* at) {
    const KernelSet& kernels = bestKernels();
    if (dtype == DType::F16 || dtype == DType::BF16) {
        std::uint16_t halves[1024];
        for (std::size_t done = 0; done < n;) {
            const std::size_t part = std::min(n - done, std::size(halves));
            (dtype == DType::F16 ? kernels.f32ToF16 : kernels.f32ToBf16)(values + done, part, halves);
            std::memcpy(at + 2 * done, halves, 2 * part);
            done += part;
        }
    } else if (dtype == DType::F64) {
        for (std::size_t i = 0; i < n; ++i) {
            const double wide = double(values[i]);
            std::memcpy(at + 8 * i, &wide, 8);
        }
    } else {
        std::memcpy(at, values, 4 * n);
    }
}

Result<void> sinkFloats(const TensorToWrite::Sink& sink, DType dtype, const std::vector<float>& values) {
    std::vector<std::byte> bytes(values.size() * std::size_t(info(dtype).bits) / 8);
    if (bytes.empty()) return {};
    appendAs(dtype, values.data(), values.size(), bytes.data());
    return sink(bytes);
}

} // namespace qs
