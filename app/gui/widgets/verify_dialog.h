// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Compares an export of any program with the opened model: error, derivation and true bits per weight of every tensor,
// and what its settings claim.

#include "app/gui/row_model.h"
#include "app/gui/task.h"
#include "app/gui/widgets/finding_dialog.h"
#include "core/verify/verify.h"

#include <functional>
#include <memory>

class QPushButton;

namespace qs::gui {

class Session;

class VerifyDialog : public FindingDialog {
    Q_OBJECT
public:
    explicit VerifyDialog(Session& session, QWidget* parent = nullptr);
    void verify(const QString& path); ///< of the export: a file or a folder
    void save(const QString& path);   ///< the report, in the format that the name ends with
    using PathChooser = std::function<QString()>;
    void setFolderChooser(PathChooser chooser) { chooseFolder_ = std::move(chooser); }
    const Verification* found() const { return found_ ? &found_->verification : nullptr; }

private:
    struct Found {
        VerifyRequest request;
        Verification verification;
    };
    void present(std::shared_ptr<const Found> found);

    Session& session_;
    PathChooser chooseFolder_;
    std::shared_ptr<const Found> found_;
    RowModel<VerifiedTensor>* rows_;
    RowModel<Claim>* claims_;
    QPushButton* save_;
    Task task_, saving_;
};

void showVerification(Session& session, QWidget* window);

} // namespace qs::gui
