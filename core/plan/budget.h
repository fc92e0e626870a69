// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A budget as people write it.

#include "core/base/result.h"

#include <cstdint>
#include <string>

namespace qs::plan {

/// Bytes of the whole file: "3.2GiB", or "4.5bpw" for 4.5 * elements / 8. `elements`: of all tensors of the file. Error:
/// another text, or nothing.
Result<std::uint64_t> parseBudget(const std::string& text, std::uint64_t elements);

} // namespace qs::plan
