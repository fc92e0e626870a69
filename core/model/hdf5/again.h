// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/result.h"
#include "core/process/descriptor.h"

namespace qs {

class MappedFile;

/// A descriptor of the very file that is mapped: a name can come to mean another.
Result<Descriptor> openAgain(const MappedFile& file);

} // namespace qs
