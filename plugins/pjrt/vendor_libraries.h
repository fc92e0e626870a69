// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// XLA's CUDA plugin needs NVIDIA libraries. They are in other Python packages beside it, where the loader does not
// search.

#include "plugins/pjrt/api.h"

#include <string>

namespace qs::pjrt {

/// The folders of these libraries. For the plugin .../jax_plugins/<name>/<plugin>.so they are .../nvidia/*/lib.
std::vector<std::string> vendorFolders(const std::string& plugin);
bool needsCuda(const std::string& plugin);
/// For a CUDA plugin: loads the libraries that it needs, dependencies first. Returns the names of those that were not
/// found, separated by ", ". For another plugin it does nothing.
std::string preloadVendorLibraries(const std::string& plugin, const Log& log);

} // namespace qs::pjrt
