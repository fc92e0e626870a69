// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/empty_state.h"

#include "app/gui/page.h"
#include "app/gui/session.h"
#include "app/gui/theme.h"

#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

namespace qs::gui {

EmptyState::EmptyState(Session& session, QWidget* parent)
    : QWidget(parent), sentence_(new QLabel), action_(new QPushButton) {
    dress(*sentence_, Theme::words(13), "muted");
    sentence_->setAlignment(Qt::AlignCenter);
    sentence_->setWordWrap(true);
    action_->setProperty("role", QStringLiteral("primary"));
    auto* layout = new QVBoxLayout(this);
    layout->setSpacing(Theme::kMargin);
    layout->addStretch(2);
    layout->addWidget(sentence_);
    layout->addWidget(action_, 0, Qt::AlignHCenter);
    layout->addStretch(3);
    connect(action_, &QPushButton::clicked, this, [this, &session] { session.showPage(*page_); });
}

void EmptyState::setState(const QString& sentence, const QString& action, const PageTraits& page) {
    sentence_->setText(sentence);
    action_->setText(action);
    page_ = &page;
}

void EmptyState::askForModel() { setState(tr("No model is open."), tr("Open a checkpoint"), kStartPage); }

void EmptyState::askForTensor() {
    setState(tr("No tensor is selected: pick one in the browser."), tr("Show the whole model"), kOverviewPage);
}

} // namespace qs::gui
