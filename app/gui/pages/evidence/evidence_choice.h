// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What is evaluated: the text, chunks, which predictions count, and the specs.

#include "app/gui/pages/evidence/evidence_run.h"

#include <QWidget>

class QComboBox;
class QPushButton;
class QSpinBox;

namespace qs::gui {

class ElidedLabel;
class Session;
class SpecTicks;

class EvidenceChoice : public QWidget {
    Q_OBJECT
public:
    explicit EvidenceChoice(Session& session, QWidget* parent = nullptr);
    EvidenceSettings settings() const;
    void setSettings(const EvidenceSettings& settings);
    const QString& path() const { return path_; }
    void setText(const QString& path, bool ids);
    /// A base-logits file in the place of the model's own predictions; empty: these.
    void setBase(const QString& path);
    void setContext(std::size_t tokens);
    void setScored(eval::Scored scored);
    void setBackend(const QString& id); ///< empty: none
    void allowTexts(bool allowed);      ///< false: the model has no tokenizer
    void chooseText(bool ids);          ///< by a dialog called "evidenceDialog"
    void takesScored(bool taken);       ///< false: the model predicts no tokens
    void followSpecs();                 ///< and the recipe, of the session

Q_SIGNALS:
    void changed();
    void refused(const QString& why);

private:
    Session& session_;
    QString path_, base_;
    bool ids_ = false;
    std::shared_ptr<const SessionRecipe> recipe_; ///< that is listed; null: spec A is for all weights
    ElidedLabel *file_, *reference_;
    QPushButton *text_, *tokens_, *ownReference_;
    QSpinBox *context_, *chunks_;
    QComboBox *scored_, *backend_;
    SpecTicks* specs_;
};

} // namespace qs::gui
