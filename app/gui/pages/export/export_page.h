// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The page of exports: plans an export of the model under spec A and the recipe, writes it in a layout, proves it, and
// shows the certificate; also of an earlier export.

#include "app/gui/page.h"
#include "app/gui/row_model.h"
#include "app/gui/task.h"
#include "core/export/export_model.h"
#include "core/export/export_plan.h"

#include <QWidget>

#include <array>
#include <functional>
#include <memory>

class QComboBox;
class QLabel;
class QPushButton;
class QStackedLayout;
class QToolButton;

namespace qs::gui {

class Card;
class ExportPlanView;
class RuleEditor;
class Session;
class StatusLine;

class ExportPage : public QWidget {
    Q_OBJECT
public:
    explicit ExportPage(Session& session, QWidget* parent = nullptr);
    /// Asks for a folder or file to write, or for a certificate to read; "" if the user cancels.
    using PathChooser = std::function<QString(const QString& suggested)>;
    void setOutputChooser(PathChooser chooser) { chooseOutput_ = std::move(chooser); }
    void setCertificateChooser(PathChooser chooser) { chooseCertificate_ = std::move(chooser); }
    const Certificate* certificate() const { return shown_ ? &*shown_ : nullptr; }
    RuleEditor& rules() { return *rules_; }

protected:
    void showEvent(QShowEvent*) override;

Q_SIGNALS:
    void exported(const QString& path);
    void failed(const QString& sentence);

private:
    QWidget* sidebar();
    QWidget* results();
    void choose(int tab); ///< 0: the plan, 1: the proof
    void look();          ///< shows what the chosen layout says about the spec
    void plan();          ///< plans the export; later, if the page is hidden
    void allow();
    QuantizeRequest request() const;
    void write();
    void use(const PlanOffer& offer); ///< takes the offered layout or spec
    void openCertificate();
    void present(const Certificate& certificate, const QString& path);
    void forget();        ///< what belongs to another model
    void followCounted(); ///< the layout that the session counts, until one is chosen
    void keep();          ///< stores layout and certificate for session files
    void takeRestored();  ///< takes over what the opened session held, once
    QString suggestedName() const;

    Session& session_;
    PathChooser chooseOutput_, chooseCertificate_;
    RowModel<TensorProof>* tensors_;
    RowModel<CertifiedFile>* files_;
    Card *planCard_, *proofCard_, *filesCard_;
    ExportPlanView* plan_;
    RuleEditor* rules_ = nullptr;
    QStackedLayout* shownTab_ = nullptr;
    std::array<QToolButton*, 2> tabs_{};
    bool planIsOld_ = true, takesSpec_ = false;
    QLabel *headline_ = nullptr, *spec_ = nullptr, *takes_ = nullptr;
    StatusLine* status_ = nullptr;
    QComboBox* layout_ = nullptr;
    QPushButton* write_ = nullptr;
    Task writing_, checking_, restoring_;
    std::weak_ptr<const Model> allowsMissing_; ///< the model of which the user writes what is there
    std::optional<Certificate> shown_;
    QString shownPath_;                           ///< path of the certificate
    std::shared_ptr<const std::string> restored_; ///< the text that was taken over
};

} // namespace qs::gui
