// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// How far the levels are from the best ones and from what no code can pass; the handles of the lab.

#include "app/gui/widgets/card.h"

class QAction;
class QDoubleSpinBox;
class QLineEdit;
class QPushButton;

namespace qs::gui {

class CodebookLab;

/// Signal to noise on one axis: these levels, the best ones, Shannon's bound.
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
    void showCode(int code); ///< whose level the number edits; -1: none
    QString figures() const { return figures_->text(); }
    QString verdict() const { return verdict_->text(); }
    void say(const QString& text) { verdict_->setText(text); }
    void setWeights(const QString& title); ///< of the inputs that weigh columns; "": none

Q_SIGNALS:
    void saved(const QString& id);
    void learnAsked(const QString& share); ///< an id of solve::shares()
    void weightsAsked();                   ///< to open a file of inputs, or to leave them out again

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
