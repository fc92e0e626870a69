// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>

#include <functional>

class QMimeData;
class QWidget;

namespace qs::gui {

class Session;
class SessionSaver;

/// File dialogs over what the registry of file formats opens; they do not block the event loop.
void askForFile(Session& session, QWidget* window);
void askForFolder(Session& session, QWidget* window);
/// A file of calibration inputs, by a dialog called "inputsDialog"; `chosen` gets "" where it is declined.
void askForInputs(QWidget* asking, const QString& title, const std::function<void(const QString& path)>& chosen);
void askWhereToSave(Session& session, SessionSaver& saver, QWidget* window);
/// What the registry opens, for a dialog's filter: "*.safetensors *.gguf".
QString weightFilePatterns();
/// The local path that a drop would open; "" when it has none.
QString droppedPath(const QMimeData* mime);

} // namespace qs::gui
