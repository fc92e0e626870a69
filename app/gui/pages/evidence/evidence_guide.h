// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What the page is for and what to do, before there is an evaluation.

#include <QWidget>

class QLabel;
class QPushButton;

namespace qs::gui {

class Card;

class EvidenceGuide : public QWidget {
    Q_OBJECT
public:
    explicit EvidenceGuide(QWidget* parent = nullptr);
    void setSampleText(bool there); ///< the opened model ships with a text
    void allowTexts(bool allowed);
    void setEncoder(bool isEncoder); ///< the model makes embeddings and predicts no tokens

Q_SIGNALS:
    void sampleTextAsked();
    void textAsked(bool ids);

protected:
    void resizeEvent(QResizeEvent*) override;

private:
    QWidget* explanation();
    QWidget* sketches();
    QLabel *title_, *what_;
    QPushButton *sample_, *text_, *tokens_;
    QWidget *ofTokens_ = nullptr, *ofEmbeddings_ = nullptr; ///< sketches of what an evaluation will show
    Card* figures_ = nullptr;                               ///< shown where there is room
};

} // namespace qs::gui
