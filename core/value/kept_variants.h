// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Which kernel is the fastest on this processor, kept from run to run: XDG_CACHE_HOME/quantscope/kernels-NAME.json. The
// file holds choices between kernels of equal arithmetic only: without it they are measured again.

#include "kernels/variant_choice.h"

namespace qs::value {

/// Choices in the file `path`, of `machine` alone: a file of another one, a broken one and none are empty. What cannot
/// be written is not kept.
VariantKeeper keptIn(const std::string& path, const std::string& machine);
/// Processor, version of the program, and the variants that it has: what a measurement holds for.
std::string measuredMachine();
/// "" where there is no folder for it.
std::string keptVariantsPath();

/// Of this process.
VariantChoices& variantChoices();

} // namespace qs::value
