// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The shapes of a benchmark: those of the opened model's products, and those that the user types.

#include "core/bench/run/shapes.h"

#include <QObject>

class QLineEdit;
class QVBoxLayout;

namespace qs::gui {

class Session;
class TickList;

class PlanShapes : public QObject {
    Q_OBJECT
public:
    PlanShapes(QVBoxLayout& column, Session& session, QWidget* parent);
    std::vector<BenchShape> ticked(std::span<const std::int64_t> ms) const; ///< each at every M
    void wishAll(); ///< ticks every shape of the model, now or once they are known
    void fit();     ///< sets the height of the list

Q_SIGNALS:
    void changed(); ///< ticked() has changed
    void complained(const QString& sentence);

private:
    void list();
    void addTyped();
    Session& session_;
    TickList* list_;
    QLineEdit* typed_;
    std::vector<ModelShape> shapes_; ///< a row of the list each
    bool wishesAll_ = false;
};

} // namespace qs::gui
