// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Specs with a check box each, and below them a field that adds others.

#include "core/quant/spec/spec.h"

#include <QWidget>

#include <functional>
#include <vector>

class QLineEdit;

namespace qs::gui {

class TickList;

class SpecTicks : public QWidget {
    Q_OBJECT
public:
    /// `list` and `field`: names of the two objects.
    SpecTicks(const char* list, const QString& accessibleName, const char* field, QWidget* parent = nullptr);
    std::vector<QuantSpec> ticked() const;
    const std::vector<QuantSpec>& listed() const { return listed_; }
    // These emit nothing.
    void setSpecs(const std::vector<QuantSpec>& specs, const std::function<bool(std::size_t place)>& isTicked);
    /// Specs that are not listed come behind the others. `first`: whether the first line is ticked.
    void tickOnly(const std::vector<QuantSpec>& specs, bool first = false);
    /// A choice that is no spec, in a line before all specs; empty: none. Call setSpecs() after it.
    void setFirst(const QString& text, bool ticked, const QString& tip = {});
    bool isFirstTicked() const;
    TickList* list() const { return list_; }

Q_SIGNALS:
    void changed();
    void refused(const QString& why); ///< what was typed

private:
    void add(const QuantSpec& spec, bool ticked);
    void addTyped();
    int lineOf(std::size_t spec) const { return int(spec) + (hasFirst_ ? 1 : 0); }
    std::vector<QuantSpec> listed_;
    TickList* list_;
    QLineEdit* typed_;
    bool hasFirst_ = false;
};

} // namespace qs::gui
