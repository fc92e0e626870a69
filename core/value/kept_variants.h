// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Stores which kernel is the fastest on this processor in XDG_CACHE_HOME/quantscope/kernels-NAME.json. The file only
// chooses between kernels with equal results; without it they are measured again.

#include "kernels/variant_choice.h"

namespace qs::value {

/// The choices in the file `path` for `machine`. A missing or broken file and one of another machine give no choices.
/// Errors on writing are ignored.
VariantKeeper keptIn(const std::string& path, const std::string& machine);
/// Processor, version of the program, and its variants: a measurement is valid for this combination.
std::string measuredMachine();
/// "" if there is no folder for it.
std::string keptVariantsPath();

/// The choices of this process.
VariantChoices& variantChoices();

} // namespace qs::value
