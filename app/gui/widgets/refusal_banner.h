// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Says why spec A cannot be applied to the selected tensor, or to the first refused tensor of the model. Offers a
// button for each similar spec that can be applied.

#include "app/gui/task.h"
#include "app/gui/widgets/banner.h"
#include "core/analysis/analysis.h"

namespace qs::gui {

class Session;

class RefusalBanner : public Banner {
    Q_OBJECT
public:
    explicit RefusalBanner(Session& session, QWidget* parent = nullptr);
    void setWanted(bool wanted); ///< true: the page in front uses spec A

private:
    void follow();
    void ask(const QString& sentence);
    Session& session_;
    Task task_;
    AnalysisRow refused_; ///< the row whose reason is shown, or was shown before the banner was closed
    bool wanted_ = true;
};

} // namespace qs::gui
