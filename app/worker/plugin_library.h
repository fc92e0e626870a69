// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/bench/backend/backend.h"
#include "plugins/abi/quantscope_backend.h"

namespace qs::worker {

/// The table of "cpu", which is linked in, or of the library at a path. Runs the library's constructors and its
/// quantscope_backend_query(). NULL when that declines. Libraries stay loaded: the end of the process is the unload.
Outcome<const qs_backend*> loadTable(const std::string& backend);

} // namespace qs::worker
