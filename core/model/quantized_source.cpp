// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/quantized_source.h"

#include "core/model/derived_tensor.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <vector>

namespace qs {

bool isStoredQuantized(const TensorInfo& tensor) {
    return tensor.packed || (tensor.derived && tensor.derived->parts().size() > 1);
}

QuantizedSource quantizedSource(const Model& model) {
    QuantizedSource out;
    std::map<std::string, std::size_t> counts;
    for (const TensorInfo& tensor : model.tensors) {
        if (!tensor.isWeight()) continue;
        ++out.matrices;
        if (!isStoredQuantized(tensor)) continue;
        ++out.quantized;
        ++counts[tensor.typeId()];
    }
    std::vector<std::pair<std::string, std::size_t>> sorted(counts.begin(), counts.end());
    std::ranges::stable_sort(sorted, [](const auto& a, const auto& b) { return a.second > b.second; });
    constexpr std::size_t most = 4;
    for (std::size_t i = 0; i < std::min(most, sorted.size()); ++i)
        out.types += (out.types.empty() ? "" : ", ") + sorted[i].first;
    if (sorted.size() > most) out.types += ", ...";
    return out;
}

std::string QuantizedSource::sentence() const {
    if (quantized == 0) return {};
    return fmt::format(
        "{} of the {} matrices are stored quantized already ({}): errors are relative to what they decode "
        "to, not to the network before it was quantized.",
        quantized, matrices, types);
}

} // namespace qs
