// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/evidence/evidence_banner.h"

#include "app/gui/page.h"
#include "app/gui/pages/evidence/evidence_choice.h"
#include "app/gui/session.h"

namespace qs::gui {

EvidenceBanner::EvidenceBanner(Session& session) : session_(session) {
    setObjectName(QStringLiteral("evidenceTrouble"));
}

void EvidenceBanner::offer(const EvidenceTrouble& trouble, EvidenceChoice& choice) {
    using Remedy = EvidenceTrouble::Remedy;
    std::vector<Action> actions;
    const auto add = [&](const QString& text, std::function<void()> act) {
        actions.push_back({text, {}, std::move(act)});
    };
    switch (trouble.remedy) {
    case Remedy::AnotherModel:
        add(tr("Open another model"), [this] { session_.showPage(kStartPage); });
        if (const QString sample = Session::samplePath(); !sample.isEmpty())
            add(tr("Open the sample"), [this, sample] { session_.open(sample); });
        break;
    case Remedy::AnotherText:
        add(tr("Choose another text…"), [&choice] { choice.chooseText(choice.settings().ids); });
        break;
    case Remedy::TokenIds: add(tr("Choose token ids…"), [&choice] { choice.chooseText(true); }); break;
    case Remedy::NoBackend:
        add(tr("Evaluate without a backend"), [this, &choice] {
            choice.setBackend({});
            Q_EMIT beginAsked();
        });
        break;
    case Remedy::NoBase:
        add(tr("Use the model itself"), [this, &choice] {
            choice.setBase({});
            Q_EMIT beginAsked(); // nothing, if the base was the text
        });
        break;
    case Remedy::Context:
        add(tr("Use a context of %1").arg(trouble.context), [this, &choice, context = trouble.context] {
            choice.setContext(context);
            Q_EMIT beginAsked();
        });
        break;
    }
    Banner::offer(QString::fromStdString(trouble.sentence), actions);
}

} // namespace qs::gui
