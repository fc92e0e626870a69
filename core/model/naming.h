// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Functions to call when a finished output file gets its name.

#include "core/base/result.h"

#include <functional>
#include <string>

namespace qs {

/// All are optional.
struct Naming {
    /// Called with a path under which the unnamed file can be opened. If it fails, the write fails with its error.
    std::function<Result<void>(const std::string& path)> check = {};
    /// Called directly before and after the rename, while a lock keeps other processes of this program from renaming in
    /// that folder. Used to change a certificate together with its file. If `before` fails, the old file stays.
    std::function<Result<void>()> before = {}, after = {};
};

} // namespace qs
