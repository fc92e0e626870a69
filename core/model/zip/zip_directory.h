// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Reads the directory and the local headers of a ZIP archive, but not the contents of its members.

#include "core/model/zip/zip.h"

namespace qs {

/// The members in the order of the directory. The error is the end of a sentence that starts with the path.
Result<std::vector<ZipMember>> readZipDirectory(const MappedFile& file, const ZipLimits& limits);

} // namespace qs
