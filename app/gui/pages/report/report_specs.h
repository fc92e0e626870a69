// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The specs that a report can compare, with a tick at those that it does. The tick of spec A moves with A.

#include "app/gui/widgets/card.h"
#include "core/quant/spec/spec.h"

#include <vector>

namespace qs::gui {

class Session;
class TickList;

class ReportSpecs : public Card {
    Q_OBJECT
public:
    explicit ReportSpecs(Session& session, QWidget* parent = nullptr);
    std::vector<QuantSpec> chosen() const;
    void list(); ///< lists them anew: A, B, what is measured, what is ticked, and the presets

Q_SIGNALS:
    void changed(); ///< the user has changed a tick

private:
    Session& session_;
    TickList* ticks_;
    std::vector<QuantSpec> listed_;
};

} // namespace qs::gui
