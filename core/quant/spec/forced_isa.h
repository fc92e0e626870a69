// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// So that the application needs no kernel header.

namespace qs {

/// What is wrong with QS_FORCE_ISA; null: nothing.
const char* forcedIsaProblem();

} // namespace qs
