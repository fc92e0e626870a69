// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What the tip of a figure says.

#include "core/base/column.h"

namespace qs {

/// The column with unit and direction behind its tip: "mean of |E|. No unit. Lower is better."
ColumnInfo withWholeTip(ColumnInfo column);

} // namespace qs
