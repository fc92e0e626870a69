// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/inputs_button.h"

#include "app/gui/output_check.h"
#include "app/gui/session.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/open_dialogs.h"
#include "core/base/text.h"

#include <QMenu>

namespace qs::gui {
namespace {
constexpr int kWidest = 160;
}

InputsButton::InputsButton(Session& session, QWidget* parent) : QToolButton(parent), session_(session) {
    setObjectName(QStringLiteral("givenInputs"));
    setPopupMode(QToolButton::InstantPopup);
    setAccessibleName(tr("Inputs of the layers"));
    auto* menu = new QMenu(this);
    menu->addAction(tr("Load activations…"), this, [this] {
        askForInputs(this, tr("Open activations, column weights or an importance matrix"), [this](const QString& path) {
            if (!path.isEmpty()) load(path);
        });
    });
    const auto take = [this](bool synthetic) {
        task_.drop();
        session_.setInputs({.file = nullptr, .synthetic = synthetic});
    };
    menu->addAction(tr("Synthetic inputs"), this, [take] { take(true); })
        ->setToolTip(tr("Normally distributed inputs with a fixed seed, to try these metrics"));
    menu->addSeparator();
    menu->addAction(tr("No inputs"), this, [take] { take(false); })->setObjectName(QStringLiteral("noInputs"));
    menu->setToolTipsVisible(true);
    setMenu(menu);
    connect(&task_, &Task::failed, &session, &Session::failed);
    connect(&session, &Session::inputsChanged, this, &InputsButton::refresh);
    connect(&session, &Session::modelChanged, this, &InputsButton::refresh);
    refresh();
}

void InputsButton::load(const QString& path) {
    using File = std::shared_ptr<const Model>;
    readsBeside(session_, path, tr("inputs of the layers"));
    task_.run(
        {}, [path = path.toStdString()](const Job&) { return openModel(path); },
        [this, opened = session_.model()](File file) {
            if (opened == session_.model()) // otherwise the inputs belong to another model
                session_.setInputs({.file = freedOnPool(std::move(file)), .synthetic = false});
        });
}

void InputsButton::refresh() {
    const GivenInputs& inputs = session_.inputs();
    setEnabled(session_.model() != nullptr);
    const QString text = tr("Inputs: %1").arg(inputs.title());
    setText(fontMetrics().elidedText(text, Qt::ElideMiddle, kWidest));
    setToolTip(text + u'\n' +
               tr("Inputs of the layers, for metrics that weight the error by them: weighted NMSE, output NMSE, "
                  "Hessian trace."));
    menu()->findChild<QAction*>(QStringLiteral("noInputs"))->setEnabled(inputs.any());
}

} // namespace qs::gui
