// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/tip.h"

namespace qs {

ColumnInfo withWholeTip(ColumnInfo column) {
    std::string& tip = column.tip;
    if (!tip.empty() && tip.back() != '.') tip += '.';
    const std::string unit = column.show == Show::Percent ? "%" : column.unit;
    tip += unit.empty() ? " No unit." : " Unit: " + unit + ".";
    switch (column.better) {
    case Direction::None: tip += " Neither direction is better."; break;
    case Direction::LowerIsBetter: tip += " Lower is better."; break;
    case Direction::HigherIsBetter: tip += " Higher is better."; break;
    }
    return column;
}

} // namespace qs
