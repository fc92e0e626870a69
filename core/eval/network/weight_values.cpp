// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/network/weight_values.h"

#include "core/base/parallel.h"
#include "core/model/derived_tensor.h"
#include "core/model/mapped_file.h"
#include "core/quant/encode/quantizer.h"

#include <algorithm>

namespace qs::eval {
namespace {

/// Frees the pages of a mapped file after a tensor was read.
void drop(const TensorView& view) {
    if (view.info->derived)
        view.info->derived->release();
    else if (view.file)
        view.file->dropPages(view.info->offset, view.info->bytes);
}

} // namespace

bool isChanged(const WeightChange* change, const TensorInfo& tensor) {
    return change && change->touches && change->touches(tensor);
}

bool isServed(const WeightChange* change, const TensorInfo& tensor) {
    return isChanged(change, tensor) && change->server != nullptr;
}

Result<WeightMatrix> loadServed(const Model& model, const TensorInfo& tensor, std::span<const std::int64_t> shape,
                                std::size_t begin, bool inputsFirst, const WeightChange& change, const Job& job) {
    const auto view = model.view(tensor);
    if (!view) return tl::unexpected(view.error());
    auto matrix = change.server->matrix({*view, std::size_t(shape[0]), std::size_t(shape[1]), inputsFirst, begin}, job);
    if (!matrix) return tl::unexpected(matrix.error());
    drop(*view);
    if (auto same = model.unchanged(tensor); !same) return tl::unexpected(same.error());
    return WeightMatrix(std::move(*matrix));
}

bool staysHalf(const TensorInfo& tensor, bool inputsFirst, const WeightChange* change) {
    const bool isHalf = tensor.dtype == DType::BF16 || tensor.dtype == DType::F16;
    return isHalf && !inputsFirst && !isChanged(change, tensor) && !(change && change->rearranged);
}

Result<std::vector<float>> loadMatrix(const Model& model, const TensorInfo& tensor, bool inputsFirst,
                                      const WeightChange* change, const Job& job) {
    const auto view = model.view(tensor);
    if (!view) return tl::unexpected(view.error());
    std::vector<float> values;
    if (isChanged(change, tensor)) {
        auto changed = change->values(tensor, *view, job);
        if (!changed) return changed;
        values = std::move(*changed);
    } else {
        values.resize(tensor.elements);
        parallelFor(values.size(), 1u << 18, [&](std::size_t begin, std::size_t end, unsigned) {
            if (!job.cancelled()) loadF32(*view, begin, end - begin, values.data() + begin);
        });
    }
    if (job.cancelled()) return cancelledError();
    drop(*view);
    if (auto same = model.unchanged(tensor); !same) return tl::unexpected(same.error());
    if (!inputsFirst || tensor.shape.size() != 2) return values;
    const auto inputs = std::size_t(tensor.shape.front()), outputs = std::size_t(tensor.shape.back());
    std::vector<float> turned(values.size());
    parallelFor(outputs, 16, [&](std::size_t begin, std::size_t end, unsigned) {
        for (std::size_t o = begin; o < end; ++o)
            for (std::size_t i = 0; i < inputs; ++i) turned[o * inputs + i] = values[i * outputs + o];
    });
    return turned;
}

Result<WeightMatrix> loadPart(const Model& model, const TensorInfo& tensor, std::size_t begin, std::size_t count,
                              const WeightChange* change, const Job& job) {
    const auto view = model.view(tensor);
    if (!view) return tl::unexpected(view.error());
    const bool half = staysHalf(tensor, false, change);
    std::vector<std::uint16_t> halves(half ? count : 0);
    std::vector<float> singles(half ? 0 : count);
    parallelFor(count, 1u << 18, [&](std::size_t from, std::size_t to, unsigned) {
        if (job.cancelled()) return;
        if (half)
            view->readInto((begin + from) * sizeof(std::uint16_t),
                           std::as_writable_bytes(std::span(halves).subspan(from, to - from)));
        else
            loadF32(*view, begin + from, to - from, singles.data() + from);
    });
    if (job.cancelled()) return cancelledError();
    drop(*view);
    if (auto same = model.unchanged(tensor); !same) return tl::unexpected(same.error());
    if (!half) return WeightMatrix(std::move(singles));
    return WeightMatrix(std::move(halves), tensor.dtype == DType::BF16 ? NumberType::Bf16 : NumberType::F16);
}

bool changesByExpert(const WeightChange* change, const TensorInfo& tensor) {
    return isChanged(change, tensor) && tensor.shape.size() == 3 && change->byFirstAxis && change->byFirstAxis(tensor);
}

Result<std::vector<float>> loadChangedExpert(const Model& model, const TensorInfo& tensor, std::size_t expert,
                                             const WeightChange& change, const Job& job) {
    const auto view = model.view(tensor);
    if (!view) return tl::unexpected(view.error());
    const auto experts = std::size_t(tensor.shape.front());
    TensorInfo one = tensor;
    one.shape = std::vector<std::int64_t>{1, tensor.shape[1], tensor.shape[2]};
    one.elements = tensor.elements / experts, one.bytes = tensor.bytes / experts;
    one.derived = nullptr, one.offset = 0;
    std::vector<std::byte> bytes(one.bytes);
    view->readInto(expert * one.bytes, bytes);
    auto values = change.values(one, {&one, bytes, nullptr}, job);
    if (!values) return values;
    drop(*view);
    if (auto same = model.unchanged(tensor); !same) return tl::unexpected(same.error());
    return values;
}

Result<WeightMatrix> loadStored(const Model& model, const TensorInfo& tensor, bool inputsFirst,
                                const WeightChange* change, const Job& job) {
    if (staysHalf(tensor, inputsFirst, change)) return loadPart(model, tensor, 0, tensor.elements, change, job);
    auto values = loadMatrix(model, tensor, inputsFirst, change, job);
    if (!values) return tl::unexpected(values.error());
    return WeightMatrix(std::move(*values));
}

Result<std::vector<float>> loadRows(const Model& model, const TensorInfo& table, std::span<const std::int32_t> tokens,
                                    const WeightChange* change, const Job& job) {
    const auto hidden = std::size_t(table.lastAxis());
    std::vector<float> out(tokens.size() * hidden);
    if (isChanged(change, table)) {
        const auto values = loadMatrix(model, table, false, change, job);
        if (!values) return values;
        for (std::size_t t = 0; t < tokens.size(); ++t)
            std::copy_n(values->data() + std::size_t(tokens[t]) * hidden, hidden, out.data() + t * hidden);
        return out;
    }
    const auto view = model.view(table);
    if (!view) return tl::unexpected(view.error());
    parallelFor(tokens.size(), 64, [&](std::size_t begin, std::size_t end, unsigned) {
        for (std::size_t t = begin; t < end && !job.cancelled(); ++t)
            loadF32(*view, std::size_t(tokens[t]) * hidden, hidden, out.data() + t * hidden);
    });
    if (job.cancelled()) return cancelledError();
    drop(*view);
    if (auto same = model.unchanged(table); !same) return tl::unexpected(same.error());
    return out;
}

} // namespace qs::eval
