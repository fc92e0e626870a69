// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Says why there is no evaluation, with a button for what would work.

#include "app/gui/pages/evidence/evidence_run.h"
#include "app/gui/widgets/banner.h"

namespace qs::gui {

class EvidenceChoice;
class Session;

class EvidenceBanner : public Banner {
    Q_OBJECT
public:
    explicit EvidenceBanner(Session& session);
    /// `choice`: what a remedy changes.
    void offer(const EvidenceTrouble& trouble, EvidenceChoice& choice);

Q_SIGNALS:
    void beginAsked(); ///< an evaluation of what is chosen now

private:
    Session& session_;
};

} // namespace qs::gui
