// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// XLA's CUDA plugin is linked with NVIDIA libraries that live in other packages beside it, where the loader does not
// look.

#include "plugins/pjrt/api.h"

#include <string>

namespace qs::pjrt {

/// Folders that hold such libraries, seen from .../jax_plugins/<name>/<plugin>.so: nvidia/*/lib beside jax_plugins.
std::vector<std::string> vendorFolders(const std::string& plugin);
bool needsCuda(const std::string& plugin);
/// Loads for a CUDA plugin what it needs, dependencies first; nothing for any other. Returns what is nowhere to be
/// found, separated by ", ".
std::string preloadVendorLibraries(const std::string& plugin, const Log& log);

} // namespace qs::pjrt
