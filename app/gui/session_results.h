// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Converts measured rows to the table of a session file, and back.

#include "app/gui/model_rows.h"
#include "core/session/session_file.h"

namespace qs::gui {

/// Only rows that were measured: refused ones are found again at no cost.
SessionResults resultsOf(const QuantSpec& spec, const ModelRows& rows, std::size_t weights);

/// Rows without histograms for tensors of this model. Entries that do not fit the model are left out.
std::vector<AnalysisRow> rowsOf(const SessionResults& results, const Model& model);

} // namespace qs::gui
