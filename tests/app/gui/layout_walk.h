// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Finds layout faults: text that does not fit, widgets that overlap, and widgets that extend beyond their parent.

#include "app/gui/widgets/elided_label.h"

#include <QAbstractButton>
#include <QAbstractItemDelegate>
#include <QAbstractScrollArea>
#include <QAbstractSpinBox>
#include <QComboBox>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QRegularExpression>
#include <QSet>
#include <QSplitterHandle>
#include <QStyle>
#include <QStyleOption>
#include <QTableView>
#include <QToolButton>
#include <QTreeView>

class LayoutWalk {
public:
    QStringList found; ///< one sentence for each fault
    int texts = 0;     ///< number of texts checked

    void look(const QWidget& widget) {
        if (!widget.isVisible()) return;
        judgeText(widget);
        QList<const QWidget*> children;
        for (auto* child : widget.findChildren<QWidget*>(QString(), Qt::FindDirectChildrenOnly))
            if (child->isVisible() && !child->isWindow() && !child->size().isEmpty()) children << child;
        if (!scrolls(widget)) judgePlaces(widget, children);
        for (const auto* child : children) look(*child);
    }

private:
    void say(const QWidget& widget, const QString& what) {
        QStringList path;
        for (const QWidget* at = &widget; at && path.size() < 4; at = at->parentWidget()) {
            const QString name = at->objectName().isEmpty() ? at->accessibleName() : at->objectName();
            path.prepend(QString::fromLatin1(at->metaObject()->className()) +
                         (name.isEmpty() ? QString() : u'#' + name));
        }
        found << path.join(QStringLiteral(" > ")) + QStringLiteral(": ") + what;
    }

    /// Scrolled content: it may extend beyond the visible part.
    static bool scrolls(const QWidget& widget) {
        const auto* area = qobject_cast<const QAbstractScrollArea*>(widget.parentWidget());
        return area && area->viewport() == &widget;
    }
    /// Overlaps others on purpose: the overlay while something loads, and the wide handle of a thin splitter.
    static bool floats(const QWidget& widget) {
        return widget.testAttribute(Qt::WA_TransparentForMouseEvents) || qobject_cast<const QSplitterHandle*>(&widget);
    }

    void judgePlaces(const QWidget& parent, const QList<const QWidget*>& children) {
        for (qsizetype i = 0; i < children.size(); ++i) {
            const QRect own = children[i]->geometry();
            if (!floats(*children[i]) && !scrolls(*children[i]) && !parent.rect().contains(own))
                say(*children[i], QStringLiteral("sticks out of its parent, %1,%2 %3x%4 in %5x%6")
                                      .arg(own.x())
                                      .arg(own.y())
                                      .arg(own.width())
                                      .arg(own.height())
                                      .arg(parent.width())
                                      .arg(parent.height()));
            for (qsizetype j = 0; j < i; ++j)
                if (!floats(*children[i]) && !floats(*children[j]) && own.intersects(children[j]->geometry()))
                    say(*children[i],
                        QStringLiteral("overlaps %1").arg(QLatin1String(children[j]->metaObject()->className())) +
                            u' ' + children[j]->objectName() + children[j]->accessibleName());
        }
    }

    void fits(const QWidget& widget, const QString& text, double room, const QFont& font, const QString& whole = {}) {
        if (text.isEmpty()) return;
        ++texts;
        double wanted = 0;
        for (const auto& line : text.split(u'\n'))
            wanted = std::max(wanted, QFontMetricsF(font).horizontalAdvance(line));
        if (wanted <= room + 1 || whole.contains(text)) return;
        say(widget, QStringLiteral("\"%1\" needs %2 px and has %3").arg(text).arg(wanted).arg(room));
    }

    void judgeText(const QWidget& widget) {
        if (const auto* label = qobject_cast<const QLabel*>(&widget)) return judgeLabel(*label);
        if (const auto* button = qobject_cast<const QAbstractButton*>(&widget)) return judgeButton(*button);
        if (const auto* box = qobject_cast<const QComboBox*>(&widget)) {
            QStyleOptionComboBox option;
            option.initFrom(box);
            option.editable = box->isEditable();
            option.frame = box->hasFrame();
            const auto field =
                box->style()->subControlRect(QStyle::CC_ComboBox, &option, QStyle::SC_ComboBoxEditField, box);
            return fits(*box, box->isEditable() ? QString() : box->currentText(), field.width(), box->font(),
                        box->toolTip());
        }
        if (const auto* edit = qobject_cast<const QLineEdit*>(&widget)) {
            const QString text = edit->text().isEmpty() ? edit->placeholderText() : edit->displayText();
            const auto margins = edit->textMargins();
            return fits(*edit, text, edit->contentsRect().width() - margins.left() - margins.right() - 4, edit->font(),
                        edit->toolTip());
        }
        if (const auto* header = qobject_cast<const QHeaderView*>(&widget)) return judgeHeader(*header);
        if (const auto* view = qobject_cast<const QAbstractItemView*>(&widget)) judgeCells(*view);
    }

    void judgeLabel(const QLabel& label) {
        if (label.text().isEmpty() || label.textFormat() == Qt::RichText) return;
        if (label.wordWrap()) {
            ++texts;
            if (label.heightForWidth(label.width()) > label.height() + 1)
                say(label, QStringLiteral("\"%1\" is cut below").arg(label.text()));
            return;
        }
        const bool elides = qobject_cast<const qs::gui::ElidedLabel*>(&label);
        fits(label, label.text(), label.contentsRect().width(), label.font(), elides ? label.toolTip() : QString());
        if (QFontMetricsF(label.font()).tightBoundingRect(label.text()).height() > label.height())
            say(label, QStringLiteral("\"%1\" is cut above and below").arg(label.text()));
    }

    void judgeButton(const QAbstractButton& button) {
        double room = button.width() - 4;
        const auto* tool = qobject_cast<const QToolButton*>(&button);
        const bool beside = !tool || tool->toolButtonStyle() == Qt::ToolButtonTextBesideIcon;
        if (tool && tool->toolButtonStyle() == Qt::ToolButtonIconOnly && !tool->icon().isNull()) return;
        if (beside && !button.icon().isNull()) room -= button.iconSize().width() + 4;
        if (const auto* push = qobject_cast<const QPushButton*>(&button); push && push->menu()) room -= 16;
        static const QRegularExpression mnemonic(QStringLiteral("&(.)"));
        fits(button, QString(button.text()).replace(mnemonic, QStringLiteral("\\1")), room, button.font());
    }

    void judgeHeader(const QHeaderView& header) {
        if (header.orientation() != Qt::Horizontal || !header.model()) return;
        for (int section = 0; section < header.count(); ++section) {
            if (header.isSectionHidden(section)) continue;
            const int left = header.sectionViewportPosition(section);
            if (left < 0 || left >= header.width()) continue;
            const QString text = header.model()->headerData(section, Qt::Horizontal).toString();
            fits(header, text, header.sectionSize(section) - 4, header.font());
        }
    }

    /// A cell may be cut off if its tooltip has the whole text.
    void judgeCells(const QAbstractItemView& view) {
        const auto* model = view.model();
        if (!model) return;
        const auto* table = qobject_cast<const QTableView*>(&view);
        const auto* tree = qobject_cast<const QTreeView*>(&view);
        QSet<QModelIndex> rows;
        for (int y = 1; y < view.viewport()->height(); y += 4)
            if (const auto index = view.indexAt({view.viewport()->width() / 2, y}); index.isValid())
                rows << index.siblingAtColumn(0);
        for (const auto& row : rows)
            for (int column = 0; column < model->columnCount(row.parent()); ++column) {
                if ((table && table->isColumnHidden(column)) || (tree && tree->isColumnHidden(column))) continue;
                const auto cell = row.siblingAtColumn(column);
                const QRect place = view.visualRect(cell);
                if (place.left() < 0 || place.left() >= view.viewport()->width()) continue;
                QStyleOptionViewItem option;
                option.initFrom(&view);
                option.rect = place;
                option.font = view.font();
                const QString text = cell.data().toString();
                texts += !text.isEmpty();
                const bool wrapped =
                    table && table->wordWrap() && place.height() > QFontMetrics(view.font()).height() * 2;
                const int wanted = view.itemDelegateForIndex(cell)->sizeHint(option, cell).width();
                if (!text.isEmpty() && wanted > place.width() + 1 && !wrapped &&
                    !cell.data(Qt::ToolTipRole).toString().contains(text))
                    say(view, QStringLiteral("\"%1\" needs %2 px and has %3").arg(text).arg(wanted).arg(place.width()));
            }
    }
};
