// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/backends/backends_matrix.h"

#include "app/gui/theme.h"
#include "app/gui/widgets/data_table.h"

#include <QHeaderView>
#include <QTableView>
#include <QToolButton>

#include <algorithm>

namespace qs::gui {
namespace {

constexpr int kColumn = 72; // pixels; for the longest word, "needs config", and four columns in a window of 1440

QString columnOf(const Capability& answer) {
    return QString::fromStdString(answer.device.empty() ? answer.backend : answer.backend + ' ' + answer.device);
}

} // namespace

MatrixCard::MatrixCard(QWidget* parent)
    : Card(tr("What could run"), parent), view_(named(new QTableView, "capabilityMatrix")),
      model_(new CapabilityModel(this)) {
    asDataTable(*view_, tr("Specs and backends"));
    view_->setSelectionBehavior(QAbstractItemView::SelectItems);
    view_->setSelectionMode(QAbstractItemView::SingleSelection);
    view_->verticalHeader()->show();
    view_->setModel(model_);
    view_->horizontalHeader()->setSectionResizeMode(QHeaderView::Stretch);
    view_->horizontalHeader()->setMinimumSectionSize(kColumn);
    setBody(view_);
    retry_ = named(new QToolButton, "retryBackends");
    retry_->setText(tr("Retry"));
    retry_->setAccessibleName(tr("Try the backends again that crashed or hung"));
    retry_->hide();
    addCorner(retry_);
    connect(retry_, &QToolButton::clicked, this, [this] { Q_EMIT retryAsked({}); });
    connect(view_, &QTableView::doubleClicked, this, [this](const QModelIndex& index) {
        const auto* answer = model_->at(index);
        if (answer && (answer->status == RowState::Crashed || answer->status == RowState::Hung))
            Q_EMIT retryAsked(answer->backend);
    });
}

void MatrixCard::setAnswers(const std::vector<Capability>& answers, bool asking, const QString& question) {
    model_->setAnswers(answers, !asking);
    setNote(asking ? tr("asking") : answers.empty() ? QString() : question);
    setMessage(!answers.empty() ? QString()
               : asking         ? tr("Asking the backends what they can run.")
                                : tr("Choose backends and weights at the left, then Ask."));
}

void MatrixCard::setQuarantined(const QStringList& backends) {
    retry_->setVisible(!backends.isEmpty());
    retry_->setToolTip(tr("Not used until you try again:") + u'\n' + backends.join(u'\n'));
}

QString capabilityWord(const Capability& answer) {
    if (answer.status != RowState::Ok) return QString::fromUtf8(rowStateText(answer.status)).replace(u'_', u' ');
    return answer.emulated ? QObject::tr("emulated") : QObject::tr("native");
}

void CapabilityModel::setAnswers(const std::vector<Capability>& answers, bool complete) {
    beginResetModel();
    answers_ = answers;
    complete_ = complete;
    specs_.clear();
    devices_.clear();
    QStringList backends; // for each device
    for (const auto& answer : answers_) {
        if (const auto spec = QString::fromStdString(answer.spec); !specs_.contains(spec)) specs_ << spec;
        if (const auto name = columnOf(answer); !devices_.contains(name)) {
            devices_ << name;
            backends << QString::fromStdString(answer.backend);
        }
    }
    titles_.clear();
    for (qsizetype i = 0; i < devices_.size(); ++i)
        titles_ << (backends.count(backends[i]) == 1 ? backends[i] : devices_[i]);
    endResetModel();
}

const Capability* CapabilityModel::at(const QModelIndex& index) const {
    for (const auto& answer : answers_)
        if (QString::fromStdString(answer.spec) == specs_.value(index.row()) &&
            columnOf(answer) == devices_.value(index.column()))
            return &answer;
    return nullptr;
}

int CapabilityModel::rowCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : int(specs_.size()); }
int CapabilityModel::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : int(devices_.size());
}

QVariant CapabilityModel::data(const QModelIndex& index, int role) const {
    if (!index.isValid()) return {};
    const auto* answer = at(index);
    if (!answer) return role == Qt::DisplayRole ? QVariant(complete_ ? QStringLiteral("–") : tr("asking")) : QVariant();
    const auto& tokens = Theme::instance().tokens();
    switch (role) {
    case Qt::DisplayRole: {
        const auto ways = answer->variants.size();
        return ways > 1 && answer->status == RowState::Ok
                   ? QStringLiteral("%1 %2").arg(ways).arg(capabilityWord(*answer))
                   : capabilityWord(*answer);
    }
    case Qt::ForegroundRole:
        if (answer->status == RowState::Ok) return answer->emulated ? tokens.text : tokens.dataC;
        if (answer->status == RowState::Crashed || answer->status == RowState::Hung) return tokens.warn;
        return tokens.muted;
    case Qt::ToolTipRole: {
        QString text =
            columnOf(*answer) + u'\n' + QString::fromStdString(answer->spec) + u'\n' + capabilityWord(*answer);
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
    const bool column = orientation == Qt::Horizontal;
    if (role == Qt::DisplayRole) return (column ? titles_ : specs_).value(section);
    if (role == Qt::ToolTipRole) return (column ? devices_ : specs_).value(section);
    if (role == Qt::TextAlignmentRole) return int(column ? Qt::AlignCenter : Qt::AlignVCenter | Qt::AlignLeft);
    if (role == Qt::FontRole) return Theme::numbers(11);
    return {};
}

} // namespace qs::gui
