// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The records of a ZIP archive, without their contents.

#include "core/model/zip/zip.h"

namespace qs {

/// The members in the order of the file. What is wrong is the end of a sentence that begins with the path.
Result<std::vector<ZipMember>> readZipDirectory(const MappedFile& file, const ZipLimits& limits);

} // namespace qs
