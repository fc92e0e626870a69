// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>

#include <functional>

class QMimeData;
class QWidget;

namespace qs::gui {

class Session;
class SessionSaver;

/// File dialogs for all registered file formats. They do not block the event loop.
void askForFile(Session& session, QWidget* window);
void askForFolder(Session& session, QWidget* window);
/// Asks for a file of calibration inputs; the dialog is named "inputsDialog". `chosen` gets "" when the user cancels.
void askForInputs(QWidget* asking, const QString& title, const std::function<void(const QString& path)>& chosen);
void askWhereToSave(Session& session, SessionSaver& saver, QWidget* window);
/// Patterns of the registered file formats for the filter of a dialog: "*.safetensors *.gguf".
QString weightFilePatterns();
/// The local path of dropped data; "" when it has none.
QString droppedPath(const QMimeData* mime);

} // namespace qs::gui
