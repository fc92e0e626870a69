// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A backend as people ask for it.

#include "core/bench/backend/backend.h"

namespace qs {

/// The source that `id` names, with options of its own or without; "" is the one that a plugin adds. Error: there is none.
Result<BackendSource> sourceNamed(const std::string& id, std::span<const BackendSource> sources);

} // namespace qs
