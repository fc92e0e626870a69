// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Why spec A cannot be measured, of the selected tensor or of the first one of the model, with a button for each spec
// that can be.

#include "app/gui/task.h"
#include "app/gui/widgets/banner.h"
#include "core/analysis/analysis.h"

namespace qs::gui {

class Session;

class RefusalBanner : public Banner {
    Q_OBJECT
public:
    explicit RefusalBanner(Session& session, QWidget* parent = nullptr);
    void setWanted(bool wanted); ///< whether the page in front is about spec A

private:
    void follow();
    void ask(const QString& sentence);
    Session& session_;
    Task task_;
    AnalysisRow refused_; ///< what is said, or was until it was closed
    bool wanted_ = true;
};

} // namespace qs::gui
