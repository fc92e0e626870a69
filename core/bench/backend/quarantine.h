// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Plugins that crashed, hung or returned garbage: they are not started again until released, or until the file changes.

#include "core/bench/backend/backend.h"

namespace qs {

void quarantine(const BackendSource& source, const Failure& failure);
std::optional<Failure> quarantined(const BackendSource& source);

} // namespace qs
