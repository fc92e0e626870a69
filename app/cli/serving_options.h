// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Options of a command that evaluates a network as a backend would serve it.

#include "app/cli/option.h"
#include "core/serve/serve.h"

namespace qs::cli {

struct ServingOptions {
    std::string backend, plugin, variant, act;

    void declare(CLI::App& app);
    bool given() const { return !backend.empty() || !plugin.empty(); }
    Result<void> check() const;
    /// The backend, ready for products. May be called where given().
    Result<std::shared_ptr<eval::LinearServer>> open(const Job& job) const;
    std::string commandLine() const; ///< with a space in front; "" where nothing was given
};

} // namespace qs::cli
