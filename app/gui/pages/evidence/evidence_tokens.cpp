// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/evidence/evidence_tokens.h"

#include "app/gui/widgets/data_table.h"
#include "core/base/text.h"

#include <QHeaderView>
#include <QPainter>
#include <QStyledItemDelegate>

namespace qs::gui {
namespace {

constexpr double kBeforeShare = 0.6; ///< of the width, for the text before the token
constexpr int kTokenAir = 3;         ///< px on both sides of the token

/// As it can be painted on one line: a line break is a sign of its own.
QString paintable(const std::string& bytes) {
    QString text = QString::fromUtf8(bytes.data(), qsizetype(bytes.size()));
    for (QChar& c : text)
        if (c == u'\n')
            c = u'⏎';
        else if (c == u' ' || !c.isPrint())
            c = c == u' ' ? u' ' : u'·';
    return text;
}

Columns<eval::WorstTokenRow> tokenColumns() {
    auto out = eval::worstTokenColumns().pick({"kld", "nll_change", "chunk", "position"});
    Column<eval::WorstTokenRow> text;
    text.id = "text", text.title = "In its text", text.show = Show::Code;
    text.tip = "The token to predict is marked; before it are the inputs.";
    text.value = [](const eval::WorstTokenRow& row) -> Value {
        return (paintable(row.text.before) + u'⟦' + paintable(row.text.token) + u'⟧' + paintable(row.text.after))
            .toStdString();
    };
    out.push_back(text);
    return out;
}

/// The text before the token ends where all others end, so that tokens stand one under the other.
class InTextDelegate : public QStyledItemDelegate {
public:
    InTextDelegate(const RowModel<eval::WorstTokenRow>& rows, QObject* parent)
        : QStyledItemDelegate(parent), rows_(rows) {}
    QSize sizeHint(const QStyleOptionViewItem&, const QModelIndex&) const override { return {120, 20}; }
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
        const auto& text = rows_.row(index.row()).text;
        const auto& tokens = Theme::instance().tokens();
        const QFont font = Theme::code();
        const QFontMetrics metrics(font);
        painter->save();
        if (option.state & QStyle::State_Selected) painter->fillRect(option.rect, tokens.selection);
        painter->setFont(font);
        const QRect area = option.rect.adjusted(8, 0, -8, 0);
        const QString whole = paintable(text.token);
        const QString token = whole.trimmed().isEmpty() ? QString(whole.size(), u'␣')
                                                        : metrics.elidedText(whole, Qt::ElideRight, area.width() / 4);
        QRect before = area;
        before.setWidth(int(area.width() * kBeforeShare) - kTokenAir);
        QRect mark(before.right() + kTokenAir, area.top() + 2, metrics.horizontalAdvance(token) + 2 * kTokenAir,
                   area.height() - 4);
        QRect after = area;
        after.setLeft(mark.right() + kTokenAir);
        painter->setPen(tokens.muted);
        painter->drawText(before, Qt::AlignRight | Qt::AlignVCenter,
                          metrics.elidedText(paintable(text.before), Qt::ElideLeft, before.width()));
        painter->drawText(after, Qt::AlignLeft | Qt::AlignVCenter,
                          metrics.elidedText(paintable(text.after), Qt::ElideRight, after.width()));
        painter->setRenderHint(QPainter::Antialiasing);
        painter->setPen(Qt::NoPen);
        painter->setBrush(tokens.selection);
        painter->drawRoundedRect(mark, 3, 3);
        painter->setPen(tokens.text);
        painter->drawText(mark, Qt::AlignCenter, token);
        painter->restore();
    }

private:
    const RowModel<eval::WorstTokenRow>& rows_;
};

} // namespace

EvidenceTokens::EvidenceTokens(QWidget* parent)
    : QTableView(parent), rows_(new RowModel<eval::WorstTokenRow>(tokenColumns(), this)) {
    asDataTable(*this, tr("Tokens with the largest KL, in their text"));
    setObjectName(QStringLiteral("evidenceWorst"));
    setModel(rows_);
    const int text = int(tokenColumns().indexOf("text"));
    setItemDelegateForColumn(text, new InTextDelegate(*rows_, this));
    horizontalHeader()->setStretchLastSection(true);
}

void EvidenceTokens::setChange(const eval::RecordedChange* change) {
    rows_->setRows(change ? eval::worstTokenRows(*change) : std::vector<eval::WorstTokenRow>());
    for (int i = 0; i + 1 < rows_->columnCount(); ++i) resizeColumnToContents(i);
}

} // namespace qs::gui
