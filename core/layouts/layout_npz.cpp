// SPDX-License-Identifier: GPL-3.0-or-later
// The decoded values as NumPy arrays, NAME.npy of one archive; bfloat16 and floats of 8 bits, which NumPy does not have, as F32.
#include "core/layouts/layouts.h"

#include "core/layouts/fields.h"
#include "core/layouts/write_model.h"
#include "core/model/computed_type.h"
#include "core/model/npy/npz_write.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs {
namespace {

using Sink = TensorToWrite::Sink;

/// True for types that NumPy does not have: bfloat16 and floats of 8 bits.
bool isWidened(DType dtype) { return computedType(dtype) == DType::BF16; }

Result<OutputFields> fields(MeasuredTensor& tensor) {
    auto plain = plainLayout().fields(tensor);
    if (plain && isWidened(plain->list.front().dtype)) {
        plain->list = {codeField(tensor.info().name, DType::F32, tensor.info().shape, valueCoder(tensor, DType::F32))};
        plain->readType = DType::F32;
    }
    return plain;
}

Result<TensorToWrite> copy(const Model& model, const TensorInfo& tensor) {
    auto same = copyOf(model, tensor);
    if (!same || !isWidened(same->dtype)) return same;
    auto view = model.view(tensor);
    if (!view) return tl::unexpected(view.error());
    same->dtype = DType::F32;
    same->produce = [view = *view](const Sink& sink) { return writeValues(view, DType::F32, sink); };
    return same;
}

Result<WrittenFiles> writeFile(const Model& model, std::vector<OutputShard> shards, const std::string& output,
                               const Job& job, const Finish& finish) {
    const auto bytes = writeNpz(output, inOne(std::move(shards)).tensors, &model, job, finish.naming(output));
    if (!bytes) return tl::unexpected(bytes.error());
    return WrittenFiles{{output}, *bytes, 0, 0};
}

} // namespace

Layout npzLayout() {
    return {.id = "npz",
            .title = "NumPy",
            .summary =
                "The decoded values as arrays of one file NAME.npz, for np.load; bfloat16 and floats of 8 bits as F32.",
            .takes = "every spec",
            .accepts = plainLayout().accepts,
            .fields = fields,
            .columnScales = true,
            .describes = false,
            .writeFiles = writeFile,
            .fileEnding = ".npz",
            .mostTensors = 200'000,
            .copy = copy};
}

} // namespace qs
