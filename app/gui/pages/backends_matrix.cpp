// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/backends_matrix.h"

#include "app/gui/theme.h"

namespace qs::gui {
namespace {

QString columnOf(const Capability& answer) {
    return QString::fromStdString(answer.device.empty() ? answer.backend : answer.backend + ' ' + answer.device);
}

} // namespace

QString capabilityWord(const Capability& answer) {
    if (answer.status != RowState::Ok) return QString::fromUtf8(rowStateText(answer.status)).replace(u'_', u' ');
    return answer.emulated ? QObject::tr("emulated") : QObject::tr("native");
}

void CapabilityModel::setAnswers(const std::vector<Capability>& answers, bool complete) {
    beginResetModel();
    answers_ = answers;
    complete_ = complete;
    specs_.clear();
    backends_.clear();
    for (const auto& answer : answers_) {
        if (const auto spec = QString::fromStdString(answer.spec); !specs_.contains(spec)) specs_ << spec;
        if (const auto name = columnOf(answer); !backends_.contains(name)) backends_ << name;
    }
    endResetModel();
}

const Capability* CapabilityModel::at(const QModelIndex& index) const {
    for (const auto& answer : answers_)
        if (QString::fromStdString(answer.spec) == specs_.value(index.row()) &&
            columnOf(answer) == backends_.value(index.column()))
            return &answer;
    return nullptr;
}

int CapabilityModel::rowCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : int(specs_.size()); }
int CapabilityModel::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : int(backends_.size());
}

QVariant CapabilityModel::data(const QModelIndex& index, int role) const {
    if (!index.isValid()) return {};
    const auto* answer = at(index);
    if (!answer) return role == Qt::DisplayRole ? QVariant(complete_ ? QStringLiteral("–") : tr("asking")) : QVariant();
    const auto& tokens = Theme::instance().tokens();
    switch (role) {
    case Qt::DisplayRole: {
        QString text = capabilityWord(*answer);
        if (answer->variants.size() > 1) text += QStringLiteral(" %1").arg(answer->variants.size());
        return text;
    }
    case Qt::ForegroundRole:
        if (answer->status == RowState::Ok) return answer->emulated ? tokens.text : tokens.dataC;
        if (answer->status == RowState::Crashed || answer->status == RowState::Hung) return tokens.warn;
        return tokens.muted;
    case Qt::ToolTipRole: {
        QString text = columnOf(*answer) + u'\n' + QString::fromStdString(answer->spec) + u'\n' + capabilityWord(*answer);
        if (!answer->reason.empty()) text += QStringLiteral(": ") + QString::fromStdString(answer->reason);
        for (const auto& variant : answer->variants) text += QStringLiteral("\n• ") + QString::fromStdString(variant);
        return text;
    }
    case Qt::FontRole: return Theme::words(11);
    case Qt::TextAlignmentRole: return int(Qt::AlignCenter);
    default: return {};
    }
}

QVariant CapabilityModel::headerData(int section, Qt::Orientation orientation, int role) const {
    const auto& names = orientation == Qt::Horizontal ? backends_ : specs_;
    if (role == Qt::DisplayRole || role == Qt::ToolTipRole) return names.value(section);
    if (role == Qt::FontRole) return Theme::numbers(11);
    return {};
}

} // namespace qs::gui
