// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A framed area with a title, a note at the right, corner buttons, and a body. The body can be empty, loading or
// failed.

#include <QLabel>
#include <QVBoxLayout>
#include <QWidget>

class QHBoxLayout;
class QToolButton;

namespace qs::gui {

class Card : public QWidget {
    Q_OBJECT
public:
    explicit Card(const QString& title, QWidget* parent = nullptr);
    void setTitle(const QString& title);
    /// right of the title, monospaced and muted; elided when it is too long
    void setNote(const QString& text);
    QToolButton* addToggle(const QString& text, const QString& tip); ///< a checkable button in the corner ("log y")
    void addCorner(QWidget* widget);
    void setBody(QWidget* body); ///< takes ownership
    /// Shows a sentence in place of the body: nothing to show, an error, "not measured: reason". "" shows the body
    /// again.
    void setMessage(const QString& sentence);
    /// Takes ownership of a drawing of what the card will show; setEmpty() shows it.
    void setSketch(QWidget* sketch);
    /// Shows a sentence and below it the sketch: nothing was measured yet, and this is what will stand here.
    void setEmpty(const QString& sentence);
    void setLoading(bool loading); ///< shows the last picture dimmed
    QWidget* body() const { return body_; }
    QString message() const;
    QString note() const;

protected:
    void paintEvent(QPaintEvent*) override;
    void resizeEvent(QResizeEvent*) override;

private:
    void place();
    void showSketch(bool on);
    QLabel *title_, *note_, *message_;
    QHBoxLayout* header_;
    QVBoxLayout* layout_;
    QWidget *body_ = nullptr, *sketch_ = nullptr;
    QWidget* veil_;
};

} // namespace qs::gui
