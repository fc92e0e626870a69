// SPDX-License-Identifier: GPL-3.0-or-later
// The decoded values as NumPy arrays, NAME.npy of one archive; bfloat16, which NumPy does not have, as F32.
#include "core/layouts/layouts.h"

#include "core/base/text.h"
#include "core/layouts/fields.h"
#include "core/layouts/write_model.h"
#include "core/model/npy/npz_write.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs {
namespace {

using Sink = TensorToWrite::Sink;

Result<void> accepts(const QuantSpec& spec, std::span<const std::int64_t> shape) {
    if (auto grid = scaleGrid(spec, shape); !grid) return tl::unexpected(grid.error());
    return {};
}

Result<OutputFields> fields(MeasuredTensor& tensor) {
    auto plain = plainLayout().fields(tensor);
    if (plain && plain->list.front().dtype == DType::BF16)
        plain->list = {codeField(tensor.info().name, DType::F32, tensor.info().shape, valueCoder(tensor, DType::F32))};
    return plain;
}

Result<TensorToWrite> copy(const Model& model, const TensorInfo& tensor) {
    auto same = copyOf(model, tensor);
    if (!same || same->dtype != DType::BF16) return same;
    auto view = model.view(tensor);
    if (!view) return tl::unexpected(view.error());
    same->dtype = DType::F32;
    same->produce = [view = *view](const Sink& sink) -> Result<void> {
        std::vector<float> values(std::size_t(1) << 18);
        for (std::uint64_t at = 0; at < view.info->elements; at += values.size()) {
            const auto n = std::size_t(std::min<std::uint64_t>(values.size(), view.info->elements - at));
            loadF32(view, at, n, values.data());
            if (auto written = sink(std::as_bytes(std::span(values).first(n))); !written) return written;
        }
        return {};
    };
    return same;
}

Result<WrittenFiles> writeFile(const Model& model, std::vector<OutputShard> shards, const std::string& output,
                               const Job& job, const Finish& finish) {
    std::vector<TensorToWrite> all;
    for (auto& shard : shards) std::move(shard.tensors.begin(), shard.tensors.end(), std::back_inserter(all));
    const auto bytes = writeNpz(output, std::move(all), &model, job, finish.naming(output));
    if (!bytes) return tl::unexpected(bytes.error());
    return WrittenFiles{{output}, *bytes, 0, 0};
}

} // namespace

Layout npzLayout() {
    return {.id = "npz",
            .title = "NumPy",
            .summary = "The decoded values as arrays of one file NAME.npz, for np.load; bfloat16 as F32.",
            .takes = "every spec",
            .accepts = accepts,
            .fields = fields,
            .columnScales = true,
            .describes = false,
            .writeFiles = writeFile,
            .fileEnding = ".npz",
            .copy = copy};
}

} // namespace qs
