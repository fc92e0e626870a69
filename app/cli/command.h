// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The registry of commands, one file per command. The parser, the help text, the completion and the tests loop over it.

#include "core/base/result.h"

#include <functional>
#include <span>

namespace CLI {
class App;
}

namespace qs::cli {

/// One command. An error from its run function gives exit code 1. The parser reports usage errors with exit code 2.
struct Command {
    const char* name;
    const char* summary;
    /// Declares the options on `app`. Returns the function that runs the command; it owns its options.
    std::function<Result<void>()> (*declare)(CLI::App& app);
};
std::span<const Command> commands();

} // namespace qs::cli
