// SPDX-License-Identifier: GPL-3.0-or-later
// Dequantized values under the tensor's own name, in its own dtype; f32, f16 and bf16 in theirs.
#include "core/layouts/layouts.h"

#include "core/layouts/produce.h"

namespace qs {
namespace {

Result<void> accepts(const QuantSpec& spec, std::span<const std::int64_t> shape) {
    if (auto grid = scaleGrid(spec, shape); !grid) return tl::unexpected(grid.error());
    return {};
}

DType storedDtype(const QuantSpec& spec, DType source) {
    if (spec.format == "f32") return DType::F32;
    if (spec.format == "f16") return DType::F16;
    return spec.format == "bf16" ? DType::BF16 : source;
}

Result<std::vector<TensorToWrite>> writeFrom(const std::shared_ptr<Source>& source) {
    const TensorInfo& original = *source->view.info;
    const DType dtype = storedDtype(source->spec, original.dtype);
    const auto size = std::uint64_t(info(dtype).bits) / 8;
    TensorToWrite tensor{original.name, dtype, original.shape, [=](const TensorToWrite::Sink& sink) {
                             return streamSlabs(
                                 *source, sink, [=](std::uint64_t element) { return element * size; },
                                 [=](const PassRange& range, RunEncoder& encode, std::byte* at) {
                                     std::vector<float> decoded(range.n);
                                     RunOut out;
                                     out.decoded = decoded.data();
                                     encode(range.run, out);
                                     if (source->solved)
                                         applyColumnScales(source->solved->columnScales, range.begin, decoded.data(),
                                                           range.n);
                                     appendAs(dtype, decoded.data(), range.n, at);
                                 });
                         }};
    return std::vector{std::move(tensor)};
}

Result<std::vector<TensorToWrite>> write(const TensorView& view, const QuantSpec& spec, const Job& job) {
    const auto source = makeSource(view, spec, job);
    if (!source) return tl::unexpected(source.error());
    return writeFrom(*source);
}

} // namespace

Layout plainLayout() {
    return {"plain",
            "Plain",
            "The dequantized values under the tensor's name, in its original dtype; f32, f16 and bf16 in theirs.",
            "every spec",
            accepts,
            write,
            writeFrom,
            true};
}

} // namespace qs
