// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Specs x backends: what could run, a word and a colour per cell, the reason on hover.

#include "core/bench/capabilities.h"

#include <QAbstractTableModel>
#include <QStringList>

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
    QStringList specs_, backends_;
    bool complete_ = true;
};

/// "native", "emulated", "declined", "not built", ...
QString capabilityWord(const Capability& answer);

} // namespace qs::gui
