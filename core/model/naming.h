// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Around the moment in which a file that was written gets its name.

#include "core/base/result.h"

#include <functional>
#include <string>

namespace qs {

struct Naming {
    /// Opens what was written by the path it is given, before it has its name; its error is that of the writing.
    std::function<Result<void>(const std::string& path)> check = {};
    /// Right before and right after, while no other process of ours names a file in that folder: what speaks of the
    /// file changes with it. An error of `before` leaves what had the name.
    std::function<Result<void>()> before = {}, after = {};
};

} // namespace qs
