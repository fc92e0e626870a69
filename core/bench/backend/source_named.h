// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A backend as people ask for it.

#include "core/base/job.h"
#include "core/bench/backend/backend.h"

namespace qs {

/// Asks each plugin of the user for its id, which then replaces its file name unless another has that id. Returns why
/// others did not answer: "x.so: crashed in probe (SIGSEGV)".
std::vector<std::string> askNames(std::vector<BackendSource>& sources, const Job& job);
/// The error for an id that no source has. `silent`: what askNames() returned.
tl::unexpected<Error> noSuchBackend(const std::string& id, std::span<const BackendSource> sources,
                                    std::span<const std::string> silent);
/// The source that `id` names, with options of its own or without; "" is the one that a plugin adds. Plugins are asked for
/// their ids where none has this one. Error: there is none.
Result<BackendSource> sourceNamed(const std::string& id, std::vector<BackendSource> sources, const Job& job = {});

} // namespace qs
