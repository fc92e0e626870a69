// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/empty_state.h"

#include "app/gui/session.h"
#include "app/gui/theme.h"

#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

namespace qs::gui {

EmptyState::EmptyState(Session& session, QWidget* parent)
    : QWidget(parent), sentence_(new QLabel), action_(new QPushButton) {
    sentence_->setProperty("role", QStringLiteral("muted"));
    sentence_->setFont(Theme::words(13));
    sentence_->setAlignment(Qt::AlignCenter);
    sentence_->setWordWrap(true);
    action_->setProperty("role", QStringLiteral("primary"));
    auto* layout = new QVBoxLayout(this);
    layout->setSpacing(Theme::kMargin);
    layout->addStretch(2);
    layout->addWidget(sentence_);
    layout->addWidget(action_, 0, Qt::AlignHCenter);
    layout->addStretch(3);
    connect(action_, &QPushButton::clicked, this, [this, &session] { Q_EMIT session.pageRequested(pageId_); });
}

void EmptyState::setState(const QString& sentence, const QString& action, const QString& pageId) {
    sentence_->setText(sentence);
    action_->setText(action);
    pageId_ = pageId;
}

} // namespace qs::gui
