// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/network/weight_change.h"

#include "core/quant/encode/quantizer.h"

namespace qs::eval {
namespace {

Result<std::vector<float>> roundtrip(const TensorView& stored, const QuantSpec& spec, const Job& job) {
    const auto quantized = quantizeTensor(stored, spec, job);
    if (!quantized) return tl::unexpected(quantized.error());
    return materialize(*quantized);
}

/// True for a matrix, and for a tensor that holds the matrices of all experts.
bool isMatrix(const TensorInfo& tensor) { return tensor.shape.size() == 2 || tensor.shape.size() == 3; }

} // namespace

WeightChange quantizedAs(QuantSpec spec) {
    WeightChange change;
    change.name = specText(spec), change.detail = canonicalText(spec);
    change.touches = isMatrix;
    const auto shared = std::make_shared<const QuantSpec>(std::move(spec));
    change.specOf = [shared](const TensorInfo&) { return shared.get(); };
    change.byFirstAxis = [shared](const TensorInfo& tensor) { return quantizesByFirstAxis(*shared, tensor); };
    change.values = [shared](const TensorInfo&, const TensorView& stored, const Job& job) {
        return roundtrip(stored, *shared, job);
    };
    return change;
}

WeightChange quantizedBy(std::string name, std::string detail,
                         std::function<const QuantSpec*(const TensorInfo& tensor)> specOf) {
    WeightChange change;
    change.name = std::move(name), change.detail = std::move(detail);
    change.everywhere = true;
    change.specOf = specOf;
    change.byFirstAxis = [specOf](const TensorInfo& tensor) { return quantizesByFirstAxis(*specOf(tensor), tensor); };
    change.touches = [specOf](const TensorInfo& tensor) { return isMatrix(tensor) && specOf(tensor); };
    change.values = [specOf](const TensorInfo& tensor, const TensorView& stored, const Job& job) {
        return roundtrip(stored, *specOf(tensor), job);
    };
    return change;
}

WeightChange replacedBy(std::shared_ptr<const Model> network, std::string name) {
    WeightChange change;
    change.name = std::move(name), change.detail = network->path;
    change.network = std::move(network);
    return change;
}

} // namespace qs::eval
