// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/start/page_tour.h"

#include "app/gui/page.h"
#include "app/gui/session.h"
#include "app/gui/theme.h"

#include <QAbstractButton>
#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QVBoxLayout>

namespace qs::gui {
namespace {

/// A framed field with the title of a page, its sentence and its sketch.
class TourField : public QAbstractButton {
public:
    explicit TourField(const PageTraits& page) {
        setAccessibleName(QString::fromUtf8(page.title));
        setToolTip(QString::fromUtf8(page.tip));
        setCursor(Qt::PointingHandCursor);
        setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Expanding);
        setAttribute(Qt::WA_Hover);
        auto* column = spaced(new QVBoxLayout(this), 4, Theme::kCardMargins);
        auto* title = dressed(new QLabel(QString::fromUtf8(page.title)), Theme::words(13, QFont::DemiBold));
        auto* tip = dressed(new QLabel(QString::fromUtf8(page.tip)), Theme::words(11), "muted");
        tip->setWordWrap(true);
        addWidgets(*column, {title, tip});
        column->addSpacing(4);
        column->addWidget(new Sketch(page.sketch), 1);
        for (auto* child : findChildren<QWidget*>()) child->setAttribute(Qt::WA_TransparentForMouseEvents);
    }
    QSize sizeHint() const override { return {320, 180}; }

protected:
    void paintEvent(QPaintEvent*) override {
        const auto& tokens = Theme::instance().tokens();
        QPainter painter(this);
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setPen(hasFocus() ? QPen(tokens.accent, 2) : QPen(underMouse() ? tokens.accent : tokens.line, 1));
        painter.setBrush(tokens.surface);
        painter.drawRoundedRect(QRectF(rect()).adjusted(1, 1, -1, -1), Theme::kCardRadius, Theme::kCardRadius);
    }
};

} // namespace

PageTour::PageTour(Session& session, QWidget* parent) : QWidget(parent) {
    setObjectName(QStringLiteral("pageTour"));
    auto* groups = spaced(new QHBoxLayout(this), Theme::kGap);
    for (const auto group : {PageGroup::Look, PageGroup::Decide, PageGroup::Check, PageGroup::Deliver}) {
        auto* column = spaced(new QVBoxLayout, Theme::kGap);
        auto* title = dressed(new QLabel(QString::fromUtf8(groupTitle(group))), Theme::words(13, QFont::DemiBold));
        column->addWidget(title);
        for (const PageTraits& page : pages()) {
            if (page.group != group) continue;
            auto* field = new TourField(page);
            field->setObjectName(QStringLiteral("tour-") + QLatin1String(page.id));
            connect(field, &QAbstractButton::clicked, this, [&session, &page] { session.showPage(page); });
            column->addWidget(field, 1);
        }
        groups->addLayout(column, 1);
    }
}

} // namespace qs::gui
