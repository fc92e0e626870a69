// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Edits the recipe of exports: one rule per line, and what happens to tensors that match no rule. Valid text applies at
// once. Recipes can be read from files and saved.

#include <QWidget>

#include <functional>

class QComboBox;
class QPlainTextEdit;
class QTimer;

namespace qs::gui {

class Session;
class StatusLine;

class RuleEditor : public QWidget {
    Q_OBJECT
public:
    explicit RuleEditor(Session& session, QWidget* parent = nullptr);
    /// The lines are not valid rules; the session still has the last valid ones.
    bool wrong() const;
    void take(); ///< applies the text now instead of after a pause
    using PathChooser = std::function<QString(const QString& suggested)>;
    void setOpenChooser(PathChooser chooser) { chooseOpen_ = std::move(chooser); }
    void setSaveChooser(PathChooser chooser) { chooseSave_ = std::move(chooser); }

Q_SIGNALS:
    void judged(); ///< wrong() may have changed

private:
    void show();
    void open();
    void save();
    void say(const QString& sentence, bool isWrong);

    Session& session_;
    PathChooser chooseOpen_, chooseSave_;
    QPlainTextEdit* lines_;
    QWidget* field_ = nullptr; ///< the frame around the lines
    QComboBox* rest_;
    StatusLine* said_;
    QTimer* settle_;
    bool wrong_ = false;
};

} // namespace qs::gui
