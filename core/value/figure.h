// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/cell.h"
#include "core/value/deviation.h"

namespace qs::value {

/// A figure of an error as a cell; "not measured" where there is no error.
inline Value figureOf(const std::optional<Deviation>& error, std::optional<double> (Deviation::*figure)() const) {
    return error ? cellOf(((*error).*figure)()) : Value();
}

} // namespace qs::value
