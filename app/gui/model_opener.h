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
    bool stored = false; ///< some tensors are what `quantize` stored
    SessionState view;   ///< to apply; path "": none
    struct Saved {
        SessionFile file;
        QString path;
        std::vector<std::string> changed; ///< a sentence for each source that is another one now
    };
    std::optional<Saved> saved; ///< the session file that named the model
};

class ModelOpener : public QObject {
    Q_OBJECT
public:
    ModelOpener(TaskList& tasks, std::function<void(OpenedModel)> opened);
    void open(const QString& path);         ///< .qscope too; ends in `opened` or failed()
    void restore(const SessionState& view); ///< the same with its path, or with its session file
    /// The same model with its stored tensors decoded; `view` is asked when it is ready.
    void decode(const std::shared_ptr<const Model>& model, std::function<SessionState()> view);
    bool running() const { return opening_.running(); } ///< open() or restore()
    void cancel() { opening_.drop(); }
    void stopDecoding() { decoding_.drop(); }

Q_SIGNALS:
    void opening(const QString& path);
    void failed(const QString& sentence);
    void ended(); ///< running() is false now

private:
    void openSaved(const QString& path, const SessionState& view);
    void read(OpenedModel::Saved saved, const SessionState& view);
    void complain(const std::string& why);

    std::function<void(OpenedModel)> opened_;
    Task opening_, decoding_;
    SessionState wanted_;                     ///< of the model that is being opened
    std::optional<OpenedModel::Saved> saved_; ///< of `wanted_`
};

} // namespace qs::gui
