// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/peek.h"

#include "app/gui/session.h"
#include "app/gui/theme.h"
#include "core/base/short_name.h"
#include "core/base/text.h"
#include "core/model/derived_tensor.h"

#include <QGridLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QScreen>
#include <QVBoxLayout>

namespace qs::gui {

Peek::Peek(Session& session, QWidget* parent)
    : QFrame(parent, Qt::Popup), session_(session), title_(new QLabel), facts_(new QLabel), rows_(new QGridLayout) {
    setProperty("role", QStringLiteral("popup"));
    title_->setFont(Theme::words(13, QFont::DemiBold));
    dress(*facts_, Theme::numbers(), "muted");
    rows_->setHorizontalSpacing(24);
    rows_->setVerticalSpacing(4);
    auto* column = spaced(new QVBoxLayout(this), Theme::kSpace, Theme::kCardMargins);
    addWidgets(*column, {title_, facts_});
    column->addLayout(rows_);
}

void Peek::addRow(const QString& name, const QString& value, bool missing) {
    auto* left = new QLabel(name);
    auto* right = new QLabel(value);
    left->setProperty("role", QStringLiteral("muted"));
    left->setFont(Theme::words(11));
    right->setFont(missing ? Theme::words(11) : Theme::numbers());
    if (missing) right->setProperty("role", QStringLiteral("warn"));
    right->setAlignment(Qt::AlignRight);
    const int row = rows_->rowCount();
    rows_->addWidget(left, row, 0);
    rows_->addWidget(right, row, 1);
}

void Peek::showFor(const TensorInfo& tensor, const QRect& cell) {
    while (auto* item = rows_->takeAt(0)) {
        delete item->widget();
        delete item;
    }
    title_->setText(QString::fromStdString(nameWithin(escapeForPeople(tensor.name, 500), 60)));
    facts_->setText(QStringLiteral("%1   %2   %3")
                        .arg(QString::fromLatin1(tensor.typeId()), QString::fromStdString(shapeTimes(tensor.shape)),
                             QString::fromStdString(bytesText(storedBytes(tensor)))));
    if (const auto s = session_.statistics(tensor)) {
        addRow(QStringLiteral("mean"), QString::fromStdString(significantText(s->mean)));
        addRow(QStringLiteral("σ"), QString::fromStdString(significantText(s->std)));
        addRow(QStringLiteral("min, max"),
               QStringLiteral("%1, %2").arg(QString::fromStdString(significantText(double(s->moments.min))),
                                            QString::fromStdString(significantText(double(s->moments.max)))));
        addRow(QStringLiteral("excess kurtosis"), QString::fromStdString(fixedText(s->kurtosis, 2)));
        addRow(QStringLiteral("outlier rows"), QString::number(s->outlierChannels));
        addRow(QStringLiteral("outlier columns"), QString::number(s->outlierColumns));
        addRow(QStringLiteral("NaN, Inf"), QStringLiteral("%1, %2").arg(s->moments.nan).arg(s->moments.inf));
    } else {
        addRow(QStringLiteral("statistics"), QStringLiteral("not measured"), true);
    }
    const auto row = session_.recipeRows().at(std::size_t(session_.weightIndex(&tensor)));
    const QuantSpec* spec = session_.recipe()->specOf(tensor);
    addRow(QStringLiteral("spec"), spec ? QString::fromStdString(specText(*spec)) : QStringLiteral("kept as it is"));
    if (!row) {
        addRow(QStringLiteral("error"),
               tensor.isWeight() ? QStringLiteral("not measured") : QStringLiteral("kept as it is"), true);
    } else if (row->status != Status::Ok) {
        addRow(QStringLiteral("refused"), QString::fromStdString(escapeForPeople(row->reason, 80)), true);
    } else {
        addRow(QStringLiteral("bits per weight"), QString::fromStdString(fixedText(row->bpw, 4)));
        for (const Metric* metric : {&sqnrMetric(), &nmseMetric(), &maxAbsMetric()}) {
            const auto value = metric->value(*row);
            const ColumnInfo column = metricColumn(*metric);
            addRow(QString::fromStdString(headerText(column)),
                   QString::fromStdString(cellText(column, value ? Value{*value} : Value{})), !value);
        }
    }
    adjustSize();
    placeBeside(*this, cell);
    show();
}

void placeBeside(QWidget& popup, const QRect& cell) {
    auto at = cell.isValid() ? cell.bottomLeft() + QPoint(24, 6) : QCursor::pos();
    if (const auto* screen = popup.parentWidget()->screen()) {
        const auto room = screen->availableGeometry();
        if (at.y() + popup.height() > room.bottom()) at.setY(std::max(room.top(), cell.top() - popup.height() - 6));
        at.setX(std::clamp(at.x(), room.left(), std::max(room.left(), room.right() - popup.width())));
    }
    popup.move(at);
}

void Peek::keyPressEvent(QKeyEvent* event) {
    if (event->key() == Qt::Key_Space) {
        if (!event->isAutoRepeat()) hide(); // a key that is held shows the popup once
        return;
    }
    QFrame::keyPressEvent(event);
}

} // namespace qs::gui
