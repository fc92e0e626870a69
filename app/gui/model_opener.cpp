// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/model_opener.h"

#include "core/base/text.h"
#include "core/layouts/serve.h"

#include <fmt/format.h>

#include <filesystem>

namespace qs::gui {

ModelOpener::ModelOpener(TaskList& tasks, std::function<void(OpenedModel)> opened)
    : opened_(std::move(opened)), decoding_(&tasks) {
    connect(&decoding_, &Task::failed, this, &ModelOpener::failed);
    connect(&opening_, &Task::over, this, &ModelOpener::ended);
}

void ModelOpener::complain(const std::string& why) { Q_EMIT failed(QString::fromStdString(oneSentence(why))); }

void ModelOpener::restore(const SessionState& view) {
    if (!view.saved.isEmpty()) {
        auto place = view;
        place.saved.clear();
        return openSaved(view.saved, place);
    }
    wanted_ = view;
    open(view.path, view.as.toStdString());
}

void ModelOpener::openSaved(const QString& path, const SessionState& view) {
    using Saved = OpenedModel::Saved;
    const auto work = [path](const Job& job) -> Result<Saved> {
        auto file = readSession(path.toStdString());
        if (!file) return tl::unexpected(file.error());
        auto changed = changedSources(*file, job);
        if (!changed) return tl::unexpected(changed.error());
        return Saved{std::move(*file), path, std::move(*changed)};
    };
    opening_.run({}, work, [this, view](Result<Saved> saved) {
        if (saved) return read(std::move(*saved), view);
        // An automatic save is optional: without it only the path and the view are restored.
        if (!view.path.isEmpty()) return restore(view);
        complain(saved.error().sentence());
    });
    Q_EMIT opening(path);
}

void ModelOpener::read(OpenedModel::Saved saved, const SessionState& view) {
    const auto& file = saved.file;
    if (!view.path.isEmpty() && view.path.toStdString() != file.opened) return restore(view);
    if (std::error_code error; !std::filesystem::exists(file.opened, error))
        return complain(saved.changed.empty() ? shownPath(file.opened) + " is not there." : saved.changed.front());
    if (looksLikeSession(file.opened)) // a session that names itself would open forever
        return complain(fmt::format("{} names another session, {}, instead of a checkpoint.",
                                    escapeForPeople(saved.path.toStdString(), 200), shownPath(file.opened)));
    wanted_ = view;
    if (view.path.isEmpty()) {
        const auto text = [&file](const char* key) {
            const auto at = file.view.find(key);
            return at == file.view.end() ? QString() : QString::fromStdString(at->second);
        };
        const auto step = file.at < file.history.size() ? file.history[file.at] : SessionStep{};
        wanted_ = {.path = QString::fromStdString(file.opened),
                   .tensor = text("tensor"),
                   .page = text("page"),
                   .specA = QString::fromStdString(step.specA),
                   .specB = QString::fromStdString(step.specB),
                   .metric = text("metric"),
                   .comparing = step.comparing,
                   .as = text("as")};
    }
    saved_ = std::move(saved);
    open(wanted_.path, wanted_.as.toStdString());
}

void ModelOpener::open(const QString& path, const std::string& as) {
    if (looksLikeSession(path.toStdString())) return openSaved(path, {});
    decoding_.drop();
    if (path != wanted_.path) {
        wanted_ = {};
        saved_.reset();
    }
    const auto work = [path = path.toStdString(), as](const Job&) -> Result<OpenedModel> {
        auto model = openModel(path, {.as = as});
        if (!model) return tl::unexpected(model.error());
        return OpenedModel{
            freedOnPool(*model), freedOnPool(layoutOf(**model)), hasStoredTensors(**model), false, {}, {}};
    };
    opening_.run({}, work, [this, as](Result<OpenedModel> opened) {
        auto view = std::exchange(wanted_, {});
        auto saved = std::exchange(saved_, std::nullopt);
        if (!opened) return complain(opened.error().sentence());
        opened->view = std::move(view), opened->saved = std::move(saved), opened->as = as;
        opened_(std::move(*opened));
    });
    Q_EMIT opening(path);
}

void ModelOpener::decode(const std::shared_ptr<const Model>& model, std::function<SessionState()> view) {
    const auto work = [model](const Job& job) -> Result<OpenedModel> {
        auto served = servedModel(model, job);
        if (!served) return tl::unexpected(served.error());
        return OpenedModel{freedOnPool(*served), freedOnPool(layoutOf(**served)), false, true, {}, {}};
    };
    decoding_.run("Decoding stored tensors", work, [this, view = std::move(view)](OpenedModel opened) {
        opened.view = view();
        opened_(std::move(opened));
    });
}

} // namespace qs::gui
