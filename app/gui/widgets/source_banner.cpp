// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/source_banner.h"

#include "app/gui/session.h"

namespace qs::gui {

SourceBanner::SourceBanner(Session& session, QWidget* parent) : Banner(parent), session_(session) {
    setObjectName(QStringLiteral("sourceQuantized"));
    connect(this, &Banner::closed, this, [this] { wasClosed_ = true; });
    connect(&session, &Session::modelChanged, this, [this] {
        wasClosed_ = false;
        follow();
    });
}

void SourceBanner::setWanted(bool wanted) {
    wanted_ = wanted;
    follow();
}

void SourceBanner::follow() {
    const bool shows = session_.model() && wanted_ && !wasClosed_;
    say(shows ? QString::fromStdString(session_.layout()->source.sentence()) : QString());
}

} // namespace qs::gui
