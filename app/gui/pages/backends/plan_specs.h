// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The specs of a benchmark: A and B, one for each format, and those that the user types.

#include "core/quant/spec/spec.h"

#include <QObject>

#include <string>
#include <utility>
#include <vector>

class QLineEdit;
class QVBoxLayout;

namespace qs::gui {

class Session;
class TickList;

class PlanSpecs : public QObject {
    Q_OBJECT
public:
    using Spec = std::pair<std::string, QuantSpec>; ///< as typed, and parsed
    PlanSpecs(QVBoxLayout& column, Session& session, QWidget* parent);
    std::vector<Spec> ticked() const;
    void wish(const std::vector<QuantSpec>& specs); ///< ticks these alone
    void spoil() { stale_ = true; }                 ///< A, B or the recipe has changed
    void refresh();                                 ///< lists the specs again if they are out of date
    void fit();                                     ///< sets the height of the list

Q_SIGNALS:
    void changed(); ///< ticked() has changed
    void complained(const QString& sentence);

private:
    void addTyped();
    Session& session_;
    TickList* list_;
    QLineEdit* typed_;
    std::vector<Spec> specs_; ///< a row of the list each
    bool stale_ = true;
};

} // namespace qs::gui
