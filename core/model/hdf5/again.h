// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/result.h"
#include "core/process/descriptor.h"

namespace qs {

class MappedFile;

/// Opens the mapped file again and returns a descriptor. It does not open the path, which may now name another file.
Result<Descriptor> openAgain(const MappedFile& file);

} // namespace qs
