// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/finding_dialog.h"

#include "app/gui/theme.h"
#include "app/gui/widgets/data_table.h"
#include "app/gui/widgets/status_line.h"

#include <QLabel>
#include <QPushButton>
#include <QTableView>
#include <QVBoxLayout>

namespace qs::gui {

FindingDialog::FindingDialog(const char* name, const QString& title, QWidget* parent)
    : QDialog(parent), headline_(new QLabel), status_(new StatusLine((QByteArray(name) + "Status").constData())),
      close_(button(tr("Close"), (QByteArray(name) + "Close").constData())) {
    setObjectName(QLatin1String(name) + QStringLiteral("Dialog"));
    setWindowTitle(title);
    headline_->setObjectName(QLatin1String(name) + QStringLiteral("Headline"));
    headline_->setWordWrap(true);
    status_->hideWhenEmpty();
    connect(close_, &QPushButton::clicked, this, &QDialog::close);
}

QPushButton* FindingDialog::button(const QString& text, const char* name) {
    auto* made = named(new QPushButton(text), name);
    made->setAutoDefault(false);
    return made;
}

void FindingDialog::lay(std::initializer_list<QWidget*> body, std::initializer_list<QWidget*> left,
                        std::initializer_list<QWidget*> right) {
    auto* buttons = spaced(new QHBoxLayout, Theme::kGap);
    for (QWidget* one : left) buttons->addWidget(one);
    buttons->addStretch();
    for (QWidget* one : right) buttons->addWidget(one);
    buttons->addWidget(close_);
    auto* column =
        spaced(new QVBoxLayout(this), Theme::kGap, {Theme::kMargin, Theme::kMargin, Theme::kMargin, Theme::kMargin});
    column->addWidget(headline_);
    for (QWidget* one : body) column->addWidget(one, one == *body.begin() ? 1 : 0);
    column->addWidget(status_);
    column->addLayout(buttons);
}

} // namespace qs::gui
