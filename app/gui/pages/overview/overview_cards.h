// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The cards in the lower row of the overview. Each shows one part of an OverviewPicture.

#include "app/gui/pages/overview/overview_rows.h"
#include "app/gui/widgets/card.h"

namespace qs::gui {

/// A histogram of the SQNR of all tensors.
class SpreadCard : public Card {
public:
    SpreadCard();
    void show(const OverviewPicture& picture);

private:
    PlotChart* chart_;
};

/// The share of the total squared error that the worst tensors have.
class ShareCard : public Card {
public:
    ShareCard();
    void show(const OverviewPicture& picture);

private:
    PlotChart* chart_;
};

/// Bytes of the model before and after quantization.
class BytesCard : public Card {
public:
    BytesCard();
    void show(const OverviewPicture& picture);

private:
    RankedBars* bars_;
    QLabel* layout_; ///< in which the bytes after are counted
};

} // namespace qs::gui
