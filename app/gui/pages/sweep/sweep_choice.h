// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Chooses what is swept: formats or specs, times block sizes.

#include "core/analysis/sweep/sweep.h"

#include <QWidget>

class QCheckBox;
class QLineEdit;

namespace qs::gui {

class TickList;

class SweepChoice : public QWidget {
    Q_OBJECT
public:
    explicit SweepChoice(QWidget* parent = nullptr);
    Result<std::vector<SweepSpec>> specs() const; ///< Error: a sentence about the choice

Q_SIGNALS:
    void changed();
    void refused(const QString& sentence); ///< the typed text is not a valid spec

private:
    void addTyped();
    TickList* formats_;
    QLineEdit* typed_;
    std::vector<QCheckBox*> blocks_;
};

} // namespace qs::gui
