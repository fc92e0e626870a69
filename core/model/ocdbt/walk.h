// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Walks from the root of a version to its leaves, so that keys come in order.

#include "core/model/ocdbt/key_list.h"
#include "core/model/ocdbt/manifest.h"
#include "core/model/ocdbt/storage.h"

namespace qs::ocdbt {

/// Appends all keys to `keys`. `isNote`: see Database.
Result<void> walkTree(const Manifest& root, Storage& storage, bool (*isNote)(std::string_view key), KeyList& keys);

} // namespace qs::ocdbt
