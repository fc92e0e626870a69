// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Compares the levels with the best levels for the tensor and with the theoretical bound; has the controls of the lab.

#include "app/gui/widgets/card.h"

class QAction;
class QDoubleSpinBox;
class QLineEdit;
class QPushButton;

namespace qs::gui {

class CodebookLab;

/// SQNR on one axis: these levels, the best levels, Shannon's bound.
class GapGauge : public QWidget {
    Q_OBJECT
public:
    explicit GapGauge(const CodebookLab& lab, QWidget* parent = nullptr);
    QSize sizeHint() const override { return {320, 58}; }
    QSize minimumSizeHint() const override { return {200, 58}; }

protected:
    void paintEvent(QPaintEvent*) override;

private:
    const CodebookLab& lab_;
};

class GapCard : public Card {
    Q_OBJECT
public:
    explicit GapCard(CodebookLab& lab, QWidget* parent = nullptr);
    void showCode(int code); ///< the code whose level the number field edits; -1: none
    QString figures() const { return figures_->text(); }
    QString verdict() const { return verdict_->text(); }
    void say(const QString& text) { verdict_->setText(text); }
    void setWeights(const QString& title); ///< the inputs that weight the columns; "": none

Q_SIGNALS:
    void saved(const QString& id);
    void learnAsked(const QString& share); ///< `share`: an id of solve::shares()
    void weightsAsked();                   ///< to open a file of inputs, or to stop using it

private:
    void refresh();
    void save();
    CodebookLab& lab_;
    GapGauge* gauge_;
    QLabel *figures_, *verdict_;
    QDoubleSpinBox* level_;
    QPushButton *best_, *learn_, *reset_, *save_;
    QAction* weights_;
    QLineEdit* id_;
    int code_ = -1;
};

} // namespace qs::gui
