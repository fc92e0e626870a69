// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A surface with a title, secondary text at the right, corner buttons, and a body that can be empty, loading or failed.

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
    void setNote(const QString& text);                               ///< mono, muted, right of the title; elided
    QToolButton* addToggle(const QString& text, const QString& tip); ///< checkable, in the corner ("log y")
    void addCorner(QWidget* widget);
    void setBody(QWidget* body); ///< takes ownership
    /// A sentence instead of the body: an empty state, an error, "not measured: reason". "" shows the body again.
    void setMessage(const QString& sentence);
    void setLoading(bool loading); ///< the last picture stays, dimmed
    QWidget* body() const { return body_; }
    QString message() const;
    QString note() const;

protected:
    void paintEvent(QPaintEvent*) override;
    void resizeEvent(QResizeEvent*) override;

private:
    void place();
    QLabel *title_, *note_, *message_;
    QHBoxLayout* header_;
    QVBoxLayout* layout_;
    QWidget* body_ = nullptr;
    QWidget* veil_;
};

} // namespace qs::gui
