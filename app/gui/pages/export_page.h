// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Writes the model under spec A in a layout, proves it, and shows the certificate; also that of an earlier export.

#include "app/gui/page.h"
#include "app/gui/row_model.h"
#include "core/export/export_model.h"

#include <QWidget>

#include <functional>
#include <memory>

class QComboBox;
class QLabel;
class QPushButton;

namespace qs::gui {

class Card;
class LaneWork;
class Session;

class ExportPage : public QWidget {
    Q_OBJECT
public:
    explicit ExportPage(Session& session, QWidget* parent = nullptr);
    ~ExportPage() override;
    /// Asks for a folder or file to write, or for a certificate to read; "" when the user declined.
    using PathChooser = std::function<QString(const QString& suggested)>;
    void setOutputChooser(PathChooser chooser) { chooseOutput_ = std::move(chooser); }
    void setCertificateChooser(PathChooser chooser) { chooseCertificate_ = std::move(chooser); }
    const Certificate* certificate() const { return shown_ ? &*shown_ : nullptr; }

Q_SIGNALS:
    void exported(const QString& path);
    void failed(const QString& sentence);

private:
    QWidget* sidebar();
    void look(); ///< what the chosen layout says of the spec
    void write();
    void openCertificate();
    void present(const Certificate& certificate, const QString& path);
    void say(const QString& sentence, bool wrong);
    QString suggestedName() const;

    Session& session_;
    PathChooser chooseOutput_, chooseCertificate_;
    RowModel<TensorProof>* tensors_;
    RowModel<CertifiedFile>* files_;
    Card *proofCard_, *filesCard_;
    QLabel *headline_ = nullptr, *status_ = nullptr, *spec_ = nullptr, *takes_ = nullptr;
    QComboBox* layout_ = nullptr;
    QPushButton* write_ = nullptr;
    std::unique_ptr<LaneWork> writing_;
    std::optional<Certificate> shown_;
};

} // namespace qs::gui
