// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/export/decoded_tensors.h"

#include "core/layouts/serve.h"
#include "core/model/derived_tensor.h"

#include <algorithm>
#include <set>

namespace qs {
namespace {

bool isStoredQuantized(const TensorInfo& tensor) {
    return tensor.packed || (tensor.derived && !tensor.derived->fields().empty());
}

} // namespace

bool hasQuantizedTensors(const Model& source) {
    return hasStoredTensors(source) || std::ranges::any_of(source.tensors, isStoredQuantized);
}

Result<std::uint64_t> decodedTensors(const Model& source, const Certificate& certificate) {
    if (!hasQuantizedTensors(source)) return 0;
    std::set<std::string> stored;
    for (const auto& [field, name] : storedFields(source)) stored.insert(name);
    for (const TensorInfo& tensor : source.tensors)
        if (isStoredQuantized(tensor)) stored.insert(tensor.name);
    std::uint64_t decoded = 0;
    const auto counted = certificate.proof.tensors.each([&](const TensorProof& one) {
        const TensorInfo* as = source.find(one.name);
        decoded += one.spec.empty() && stored.contains(one.name) && !(as && as->packed && one.readAs == as->typeId());
        return Result<void>();
    });
    return counted ? Result<std::uint64_t>(decoded) : tl::unexpected(counted.error());
}

} // namespace qs
