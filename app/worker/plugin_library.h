// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/bench/backend/backend.h"
#include "plugins/abi/quantscope_backend.h"

namespace qs::worker {

/// Returns the function table of a backend. `backend` is "cpu", which is linked in, or the path of a shared library.
/// Loading a library runs its constructors and its quantscope_backend_query(). Returns NULL if that function declines.
/// A library is never unloaded; it stays until the process ends.
Outcome<const qs_backend*> loadTable(const std::string& backend);

} // namespace qs::worker
