// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Edits the spec that every page uses. All choices come from the registries of formats and calibrations.

#include "core/quant/spec/spec.h"

#include <QWidget>

#include <functional>
#include <vector>

class QComboBox;
class QSlider;
class QSpinBox;
class QToolButton;

namespace qs::gui {

class FormatBox;
class Session;
class SpecMore;

class SpecBar : public QWidget {
    Q_OBJECT
public:
    explicit SpecBar(Session& session, QWidget* parent = nullptr);
    bool editsB() const; ///< the controls show B instead of A

private:
    using Edit = std::function<QuantSpec(const QuantSpec&)>;
    QWidget* field(const QString& caption, QWidget* control, int width, QWidget* beside = nullptr);
    void connectControls();
    void edit(const Edit& change);
    void refresh();
    void showBlock(const QuantSpec& spec);
    const QuantSpec& target() const;

    Session& session_;
    FormatBox* format_;
    QComboBox *scale_, *calibration_, *decode_;
    QSlider* block_;
    QSpinBox* blockValue_;
    QToolButton *compare_, *a_, *b_, *more_;
    QWidget* decodeField_;
    SpecMore* panel_;
    std::vector<std::uint32_t> stops_;
    bool showing_ = false;
};

} // namespace qs::gui
