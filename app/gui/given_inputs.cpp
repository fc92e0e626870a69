// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/given_inputs.h"

#include "core/analysis/input_errors.h"
#include "core/base/text.h"

#include <QObject>

namespace qs::gui {

QString GivenInputs::title() const {
    if (!file) return synthetic ? QObject::tr("synthetic") : QObject::tr("none");
    return QString::fromStdString(escapeForPeople(file->title, 40));
}

decltype(AnalysisOptions::inputs) GivenInputs::ofLayers() const { return any() ? layerInputsFrom(file) : nullptr; }

} // namespace qs::gui
