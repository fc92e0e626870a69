// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The sizes of attention that config.json says.

#include "core/model/model.h"

#include <optional>

namespace qs {

struct AttentionSizes {
    std::optional<std::int64_t> kvHeads, headSize;
};
/// Reads the file beside the weights; what it does not say is missing.
AttentionSizes attentionSizes(const Model& model);

} // namespace qs
