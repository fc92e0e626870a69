// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The registry of commands. One file per command; the parser, the help, the completion test and the tests loop over it.

#include "core/base/result.h"

#include <functional>
#include <span>

namespace CLI {
class App;
}

namespace qs::cli {

/// A command's run() returns an error for exit code 1; usage errors (exit 2) are the parser's.
struct Command {
    const char* name;
    const char* summary;
    /// Declares options on `app` and returns what runs them; the returned function owns its options.
    std::function<Result<void>()> (*declare)(CLI::App& app);
};
std::span<const Command> commands();

} // namespace qs::cli
