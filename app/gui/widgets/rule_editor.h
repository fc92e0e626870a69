// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The recipe of exports: rules, a line each, and what the other tensors become. What is typed is in force once it is
// sound; recipes come from files and go into them.

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
    /// The lines that are shown are no rules, so the session has others.
    bool wrong() const;
    void take(); ///< what is typed is in force now, not after a pause
    using PathChooser = std::function<QString(const QString& suggested)>;
    void setOpenChooser(PathChooser chooser) { chooseOpen_ = std::move(chooser); }
    void setSaveChooser(PathChooser chooser) { chooseSave_ = std::move(chooser); }

Q_SIGNALS:
    void judged(); ///< wrong() may be another one now

private:
    void show();
    void open();
    void save();
    void say(const QString& sentence, bool isWrong);

    Session& session_;
    PathChooser chooseOpen_, chooseSave_;
    QPlainTextEdit* lines_;
    QWidget* field_ = nullptr; ///< around the lines
    QComboBox* rest_;
    StatusLine* said_;
    QTimer* settle_;
    bool wrong_ = false;
};

} // namespace qs::gui
