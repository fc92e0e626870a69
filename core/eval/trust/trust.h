// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The trust meter: how far each proxy ranks tensors, or specs, as what was measured on the model's output ranks them,
// and which of them it misjudges.

#include "core/analysis/rank_agreement.h"
#include "core/base/column.h"

#include <string>

namespace qs::eval {

/// One figure of all items; the larger the worse. NaN: not measured.
struct TrustFigure {
    std::string id, title;
    std::vector<double> values;
};

struct TrustTable {
    std::string of; ///< what the items are, for people: "tensors under nf4:block=64", "specs"
    std::vector<std::string> items;
    std::vector<TrustFigure> proxies, measured; ///< a value for each item
};

/// A proxy against a measured figure.
struct TrustRow {
    std::string of;
    std::size_t proxy = 0, measured = 0; ///< indices into the table
    std::string proxyTitle, measuredTitle;
    std::optional<RankAgreement> agreement; ///< none: too few items have both, or all are equal
    std::vector<Misjudged> misjudged;
    std::string misjudgedNames; ///< "layers.0.q_proj (too high), ..."
};
std::vector<TrustRow> trustRows(const TrustTable& table);
constexpr const char* kTrustText =
    "Kendall's tau-b between the order by a proxy and the order by what was measured: 1 is the same order, 0 none. "
    "Beside "
    "it the 95 % interval over samples of the items. A proxy whose interval holds 0 says nothing here.";
const Columns<TrustRow>& trustColumns();

} // namespace qs::eval
