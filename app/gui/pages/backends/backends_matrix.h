// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Specs x backends: what could run, a word and a colour per cell, the reason on hover.

#include "app/gui/widgets/card.h"
#include "core/bench/backend/capabilities.h"

#include <QAbstractTableModel>
#include <QStringList>

class QTableView;
class QToolButton;

namespace qs::gui {

class CapabilityModel : public QAbstractTableModel {
    Q_OBJECT
public:
    explicit CapabilityModel(QObject* parent = nullptr) : QAbstractTableModel(parent) {}
    void setAnswers(const std::vector<Capability>& answers, bool complete);
    const Capability* at(const QModelIndex& index) const; ///< null: not asked yet
    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    std::vector<Capability> answers_;
    QStringList specs_, devices_; ///< rows, and columns as "cpu cpu:0"
    QStringList titles_;          ///< of the columns: the backend alone where it has one device
    bool complete_ = true;
};

class MatrixCard : public Card {
    Q_OBJECT
public:
    explicit MatrixCard(QWidget* parent = nullptr);
    /// `question`: what was asked, beside the specs.
    void setAnswers(const std::vector<Capability>& answers, bool asking, const QString& question);
    /// "bad.so: crashed in open (SIGSEGV)", one a backend that is set aside; a button asks for another try.
    void setQuarantined(const QStringList& backends);

Q_SIGNALS:
    void retryAsked(const std::string& backend); ///< a double click on one that crashed or hung; empty: all of them

private:
    QTableView* view_;
    CapabilityModel* model_;
    QToolButton* retry_;
};

/// "native", "emulated", "declined", "not built", ...
QString capabilityWord(const Capability& answer);

} // namespace qs::gui
