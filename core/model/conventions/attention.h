// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Sizes of the attention layers according to config.json.

#include "core/model/model.h"

#include <optional>

namespace qs {

struct AttentionSizes {
    std::optional<std::int64_t> kvHeads, headSize;
};
/// Reads config.json beside the weights. A size that is not there stays empty.
AttentionSizes attentionSizes(const Model& model);

} // namespace qs
