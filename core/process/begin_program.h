// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What each program does before anything else.

namespace qs {

/// - Takes closed standard descriptors, so that no file of the user gets the number of one. Reading or writing them stays
///   an error.
/// - Ignores SIGXFSZ: a write beyond the limit for file sizes is an error, after which nothing is left behind.
/// - Raises the limit of open files to what the user may have: a model may have thousands of shards.
void beginProgram();

} // namespace qs
