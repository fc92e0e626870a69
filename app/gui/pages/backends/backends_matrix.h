// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The matrix of specs x backends: what could run. A cell has a word and a colour; the tooltip has the reason.

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
    QStringList specs_, devices_; ///< rows; columns as "cpu cpu:0"
    QStringList titles_;          ///< titles of the columns: without the device if the backend has only one
    bool complete_ = true;
};

class MatrixCard : public Card {
    Q_OBJECT
public:
    explicit MatrixCard(QWidget* parent = nullptr);
    /// `question`: what was asked, in addition to the specs.
    void setAnswers(const std::vector<Capability>& answers, bool asking, const QString& question);
    /// One text for each backend that is no longer used, "bad.so: crashed in open (SIGSEGV)". A button tries them
    /// again.
    void setQuarantined(const QStringList& backends);

Q_SIGNALS:
    /// a double click on a backend that crashed or hung; empty: all of them
    void retryAsked(const std::string& backend);

private:
    QTableView* view_;
    CapabilityModel* model_;
    QToolButton* retry_;
};

/// "native", "emulated", "declined", "not built", ...
QString capabilityWord(const Capability& answer);

} // namespace qs::gui
