// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Measured rows as the table that a session file keeps, and back.

#include "app/gui/model_rows.h"
#include "core/session/session_file.h"

namespace qs::gui {

/// Of the rows that were measured; refused ones are found again without work.
SessionResults resultsOf(const QuantSpec& spec, const ModelRows& rows, std::size_t weights);

/// Rows without histograms, for tensors of this model; what does not fit it is left out.
std::vector<AnalysisRow> rowsOf(const SessionResults& results, const Model& model);

} // namespace qs::gui
