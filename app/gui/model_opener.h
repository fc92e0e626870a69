// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Opens checkpoints and session files on a worker thread.

#include "app/gui/model_layout.h"
#include "app/gui/session_state.h"
#include "app/gui/task.h"
#include "core/session/session_file.h"

#include <functional>
#include <memory>
#include <optional>

namespace qs::gui {

struct OpenedModel {
    std::shared_ptr<const Model> model;
    std::shared_ptr<const ModelLayout> layout;
    bool stored = false; ///< some tensors were stored by `quantize` (codes and scales)
    bool isSame = false; ///< the model that is open, with its stored tensors decoded: its recipe stays
    SessionState view;   ///< view to restore; path "": none
    struct Saved {
        SessionFile file;
        QString path;
        /// one sentence for each source file that has changed since the session was saved
        std::vector<std::string> changed;
    };
    std::optional<Saved> saved; ///< set when a session file named the model
    std::string as = {};        ///< as given to ModelOpener::open()
};

class ModelOpener : public QObject {
    Q_OBJECT
public:
    ModelOpener(TaskList& tasks, std::function<void(OpenedModel)> opened);
    /// Also opens .qscope files; ends with opened() or failed(). `as`: see OpenOptions.
    void open(const QString& path, const std::string& as = {});
    void restore(const SessionState& view); ///< opens the path or the session file of the view
    /// Opens the model again with its stored tensors decoded; calls `view` when it is ready.
    void decode(const std::shared_ptr<const Model>& model, std::function<SessionState()> view);
    bool running() const { return opening_.running(); } ///< true during open() or restore()
    void cancel() { opening_.drop(); }
    void stopDecoding() { decoding_.drop(); }

Q_SIGNALS:
    void opening(const QString& path);
    void failed(const QString& sentence);
    void ended(); ///< running() has become false

private:
    void openSaved(const QString& path, const SessionState& view);
    void read(OpenedModel::Saved saved, const SessionState& view);
    void complain(const std::string& why);

    std::function<void(OpenedModel)> opened_;
    Task opening_, decoding_;
    SessionState wanted_;                     ///< state to restore for the model that is being opened
    std::optional<OpenedModel::Saved> saved_; ///< the session file of `wanted_`
};

} // namespace qs::gui
