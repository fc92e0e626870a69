// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/layouts/produce.h"

#include "core/base/lanes.h"
#include "core/base/parallel.h"
#include "core/base/text.h"
#include "core/quant/spec/code_set.h"
#include "core/quant/spec/trained.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <utility>

namespace qs {
namespace {

constexpr std::uint64_t kSlabBytes = std::uint64_t(8) << 20;
constexpr std::uint64_t kSlabGroups = std::uint64_t(1) << 20;

} // namespace

Result<const TensorPass*> Source::prepared() {
    if (!pass) {
        // Each pass goes over all of it once; rows that are short are many calls.
        const TensorView read = grid.contiguous ? forScan(view, kReadBytes) : view;
        auto made = solved ? passOf(read, spec, grid, *solved, job)
                           : TensorPass::prepare(read, spec, grid, job, nullptr, scales);
        if (!made) return tl::unexpected(made.error());
        pass.emplace(std::move(*made));
        scales = pass->scales();
        pass->refuseNonFinite(nonFinite);
        const auto& shared = pass->shared();
        if (nonFinite && !areUsable(spec, shared)) {
            nonFinite->store(true, std::memory_order_relaxed);
            return fail(fmt::format("a scale of tensor '{}' overflows f32 under {}: use {}",
                                    escapeForPeople(view.info->name, 80), specText(spec), spec.format));
        }
        warnings = passWarnings(spec, shared, view.info->elements);
    }
    return &*pass;
}

Result<std::shared_ptr<Source>> makeSource(const TensorView& view, const QuantSpec& asked, const Job& job) {
    if (auto ok = checkQuantizable(*view.info); !ok) return tl::unexpected(ok.error());
    const QuantSpec spec = forTensor(asked, *view.info);
    auto grid = scaleGrid(spec, view.info->shape);
    if (!grid) return fail(fmt::format("tensor '{}': {}", escapeForPeople(view.info->name), grid.error().message));
    auto source = std::make_shared<Source>();
    source->view = trainedSource(view, spec).value_or(view), source->spec = spec, source->grid = std::move(*grid),
    source->job = job;
    return source;
}

TensorToWrite ofParams(const std::shared_ptr<Source>& source, std::string name, DType dtype,
                       std::vector<std::int64_t> shape, std::function<TakeParams(const TensorToWrite::Sink&)> begin) {
    source->ofParams[name] = begin;
    return {std::move(name), dtype, std::move(shape),
            [source, begin](const TensorToWrite::Sink& sink) { return eachParams(*source, begin(sink)); }};
}

TensorToWrite scaleTensor(const std::shared_ptr<Source>& source, const char* field) {
    const DType dtype = storedScaleType(source->spec, source->view.info->dtype);
    const auto begin = [from = source.get(), dtype](const TensorToWrite::Sink& sink) -> TakeParams {
        return [from, dtype, sink, index = std::uint64_t(0)](std::span<const GroupParams> params) mutable {
            if (params.empty()) return Result<void>{};
            if (info(dtype).bits > 8) {
                std::vector<float> scales(params.size());
                std::transform(params.begin(), params.end(), scales.begin(), [](const auto& p) { return p.scale; });
                return sinkFloats(sink, dtype, scales);
            }
            const NestedGrid* nested = from->pass ? from->pass->nested() : nullptr;
            const float unit = from->pass ? from->pass->tensorScale() : 1.0f;
            const std::uint64_t last = std::uint64_t(from->grid.scales) - 1;
            const bool isShort = nested && from->view.info->elements % from->spec.blockSize() != 0;
            std::vector<std::uint8_t> bytes(params.size());
            if (nested) {
                std::vector<float> measured(params.size());
                std::transform(params.begin(), params.end(), measured.begin(), [](const auto& p) { return p.aux; });
                if (isShort && index + params.size() > last) measured.back() = std::max(measured.back(), kLeastAbsMax);
                nested->encode(index, measured, bytes.data());
                index += params.size();
            } else {
                std::transform(params.begin(), params.end(), bytes.begin(),
                               [&](const GroupParams& p) { return scaleByte(dtype, p.scale * unit); });
            }
            return sink(std::as_bytes(std::span(bytes)));
        };
    };
    return ofParams(source, source->view.info->name + field, dtype, source->grid.scaleShape, begin);
}

TensorToWrite zeroTensor(const std::shared_ptr<Source>& source, const char* field) {
    const DType dtype = storedZeroType(source->spec);
    const auto begin = [dtype](const TensorToWrite::Sink& sink) -> TakeParams {
        return [dtype, sink](std::span<const GroupParams> params) -> Result<void> {
            if (dtype != DType::I8) {
                std::vector<float> between(params.size());
                std::transform(params.begin(), params.end(), between.begin(), [](const auto& p) { return p.aux; });
                return sinkFloats(sink, dtype, between);
            }
            std::vector<std::int8_t> zeros(params.size());
            std::transform(params.begin(), params.end(), zeros.begin(),
                           [](const GroupParams& p) { return std::int8_t(p.aux); });
            return zeros.empty() ? Result<void>{} : sink(std::as_bytes(std::span(zeros)));
        };
    };
    return ofParams(source, source->view.info->name + field, dtype, source->grid.scaleShape, begin);
}

TensorToWrite biasTensor(const std::shared_ptr<Source>& source, const char* field) {
    const DType dtype = storedScaleType(source->spec, source->view.info->dtype);
    const auto begin = [dtype](const TensorToWrite::Sink& sink) -> TakeParams {
        return [dtype, sink](std::span<const GroupParams> params) {
            std::vector<float> biases(params.size());
            std::transform(params.begin(), params.end(), biases.begin(), [](const auto& p) { return p.bias; });
            return sinkFloats(sink, dtype, biases);
        };
    };
    return ofParams(source, source->view.info->name + field, dtype, source->grid.scaleShape, begin);
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
    auto encoders = (*pass)->encoders(source.spec, source.view.info->dtype);
    // Groups of an empty tensor have no range; their scale is that of nothing but zeros.
    if (source.view.info->elements == 0)
        std::fill(params.begin(), params.end(), encoders.front().params(runOf(source.spec), nullptr, 0));
    const auto done = (*pass)->run(0, (*pass)->units(), source.job, [&](const PassRange& range) {
        encoders[range.worker].params(range.run, params.data() + range.firstGroup);
    });
    if (!done) return tl::unexpected(done.error());
    return params;
}

Result<void> eachParams(Source& source, const TakeParams& take) {
    const auto prepared = source.prepared();
    if (!prepared) return tl::unexpected(prepared.error());
    const TensorPass& pass = **prepared;
    if (pass.measuresInOrder())
        return pass.eachParams(source.spec, source.view.info->dtype, kSlabGroups, source.job, take);
    const auto all = measureParams(source);
    return all ? take(*all) : tl::unexpected(all.error());
}

SlabParams::SlabParams(Source& source)
    : source_(source), active_(!source.takers.empty() && source.pass->measuresInOrder() && source.grid.group > 1) {
    source.taken = source.taken || active_;
}

void SlabParams::begin(std::uint64_t firstUnit, std::uint64_t lastUnit) {
    if (!active_) return;
    const TensorPass& pass = *source_.pass;
    first_ = pass.groupOf(pass.unitBegin(firstUnit));
    params_.assign(std::size_t(pass.groupOf(pass.unitBegin(lastUnit)) - first_), {});
}

PassRange SlabParams::measured(const PassRange& range, RunEncoder& encode) {
    PassRange out = range;
    if (!active_) return out;
    encode.params(range.run, of(range));
    out.run.given = of(range), out.run.givenStride = 1;
    return out;
}

Result<void> SlabParams::handOn() {
    for (const TakeParams& take : source_.takers)
        if (!active_)
            break;
        else if (auto taken = take(params_); !taken)
            return taken;
    return {};
}

void produceTogether(const std::shared_ptr<Source>& source, std::vector<TensorToWrite>& fields) {
    if (source->view.info->bytes <= kReadBytes || source->ofParams.empty()) return;
    auto together = std::make_shared<ProducedTogether>();
    std::vector<std::function<Result<void>(const TensorToWrite::Sink&)>> producers;
    for (const TensorToWrite& field : fields) together->names.push_back(field.name), producers.push_back(field.produce);
    together->produce = [source, producers, names = together->names](auto places) -> Result<void> {
        std::vector<TensorToWrite::Sink> sinks;
        for (const auto& place : places)
            sinks.push_back([&place, at = std::uint64_t(0)](std::span<const std::byte> bytes) mutable {
                const std::uint64_t offset = std::exchange(at, at + bytes.size());
                return place(offset, bytes);
            });
        const auto isOfParams = [&](std::size_t i) { return source->ofParams.contains(names[i]); };
        source->takers.clear(), source->taken = false;
        for (std::size_t i = 0; i < names.size(); ++i)
            if (isOfParams(i)) source->takers.push_back(source->ofParams.at(names[i])(sinks[i]));
        Result<void> done;
        for (std::size_t i = 0; i < names.size() && done; ++i)
            if (!isOfParams(i)) done = producers[i](sinks[i]);
        source->takers.clear();
        for (std::size_t i = 0; i < names.size() && done && !source->taken; ++i)
            if (isOfParams(i)) done = producers[i](sinks[i]);
        source->pass.reset();
        return done;
    };
    for (TensorToWrite& field : fields) field.together = together;
}

Result<void> streamSlabs(Source& source, const TensorToWrite::Sink& sink,
                         const std::function<std::uint64_t(std::uint64_t)>& place,
                         const std::function<void(const PassRange&, RunEncoder&, GroupParams*, std::byte*)>& body) {
    const auto prepared = source.prepared();
    if (!prepared) return tl::unexpected(prepared.error());
    const TensorPass& pass = **prepared;
    auto encoders = pass.encoders(source.spec, source.view.info->dtype);
    SlabParams params(source);
    std::vector<std::byte> slab;
    for (std::uint64_t first = 0, last = 0; first < pass.units(); first = last) {
        const std::uint64_t begin = place(pass.unitBegin(first));
        do ++last;
        while (last < pass.units() && place(pass.unitBegin(last)) - begin < kSlabBytes);
        slab.resize(place(pass.unitBegin(last)) - begin);
        params.begin(first, last);
        const auto done = pass.run(first, last, source.job, [&](const PassRange& range) {
            body(range, encoders[range.worker], params.of(range), slab.data() + (place(range.begin) - begin));
        });
        if (!done) return done;
        if (auto written = sink(slab); !written) return written;
        if (auto taken = params.handOn(); !taken) return taken;
    }
    return {};
}

Result<void> streamSlabs(Source& source, const TensorToWrite::Sink& sink,
                         const std::function<std::uint64_t(std::uint64_t)>& place,
                         const std::function<void(const PassRange&, RunEncoder&, std::byte*)>& body) {
    return streamSlabs(source, sink, place,
                       [&](const PassRange& range, RunEncoder& encode, GroupParams* params, std::byte* at) {
                           if (!params) return body(range, encode, at);
                           PassRange measured = range;
                           encode.params(range.run, params);
                           measured.run.given = params, measured.run.givenStride = 1;
                           body(measured, encode, at);
                       });
}

void moveCodes(std::uint8_t* codes, std::size_t n, int offset) {
    if (offset == 0) return;
    std::size_t i = 0;
    for (ByteLanes lanes; i + kLanes <= n; i += kLanes)
        load(lanes, codes + i), lanes += std::uint8_t(offset), store(lanes, codes + i);
    for (; i < n; ++i) codes[i] = std::uint8_t(codes[i] + offset);
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
