// SPDX-License-Identifier: GPL-3.0-or-later
// How a session comes to its model and lets it go: files, saved sessions, recent files, the sample.
#include "app/gui/run_job.h"
#include "app/gui/session_private.h"
#include "app/gui/session_results.h"
#include "app/gui/spec_edit.h"
#include "core/base/text.h"
#include "core/layouts/serve.h"

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>
#include <QScopedValueRollback>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace qs::gui {
namespace {

constexpr int kRecent = 12;

} // namespace

void Session::openSaved(const QString& path, const SessionState& view) {
    d->openJob.cancel();
    d->openJob = Job();
    d->opening = true;
    Q_EMIT opening(path);
    const auto work = [path](const Job& job) -> Result<Private::Saved> {
        auto file = readSession(path.toStdString());
        if (!file) return tl::unexpected(file.error());
        auto changed = changedSources(*file, job);
        if (!changed) return tl::unexpected(changed.error());
        return Private::Saved{std::move(*file), path, std::move(*changed)};
    };
    runJob<Private::Saved>(this, d->openJob, work, [this, view](Result<Private::Saved> saved) {
        d->opening = false;
        if (!saved) {
            // What was saved by itself is a convenience: without it the place alone is restored.
            if (!view.path.isEmpty()) return restore(view);
            Q_EMIT failed(QString::fromStdString(oneSentence(saved.error().message)));
            return endedInLane();
        }
        const auto& file = saved->file;
        if (!view.path.isEmpty() && view.path.toStdString() != file.opened) return restore(view);
        if (std::error_code error; !std::filesystem::exists(file.opened, error)) {
            const auto why =
                saved->changed.empty() ? escapeForPeople(file.opened, 200) + " is not there." : saved->changed.front();
            Q_EMIT failed(QString::fromStdString(oneSentence(why)));
            return endedInLane();
        }
        if (looksLikeSession(file.opened)) { // one that names itself would open for ever
            Q_EMIT failed(QString::fromStdString(oneSentence(
                fmt::format("{} names another session, {}, instead of a checkpoint.",
                            escapeForPeople(saved->path.toStdString(), 200), escapeForPeople(file.opened, 200)))));
            return endedInLane();
        }
        d->wanted = view;
        if (view.path.isEmpty()) {
            const auto text = [&file](const char* key) {
                const auto at = file.view.find(key);
                return at == file.view.end() ? QString() : QString::fromStdString(at->second);
            };
            const auto step = file.at < file.history.size() ? file.history[file.at] : SessionStep{};
            d->wanted = {.path = QString::fromStdString(file.opened),
                         .tensor = text("tensor"),
                         .page = text("page"),
                         .specA = QString::fromStdString(step.specA),
                         .specB = QString::fromStdString(step.specB),
                         .metric = text("metric"),
                         .comparing = step.comparing};
        }
        d->saved = std::move(*saved);
        open(d->wanted.path);
    });
}

/// The model is open. What was measured counts only where its files are those that it was measured on.
void Session::applySaved() {
    const auto saved = std::exchange(d->saved, std::nullopt);
    if (!saved) return;
    if (saved->changed.empty())
        for (const auto& results : saved->file.results)
            if (const auto spec = savedSpec(results.spec)) d->sweep.restore(*spec, rowsOf(results, *model_));
    Q_EMIT sessionOpened(saved->file, saved->path);
    if (saved->changed.empty() && d->diedAt.isValid() && saved->path == d->resumable.saved)
        Q_EMIT noticed(QStringLiteral("Restored as of %1.").arg(momentText(d->diedAt)));
    if (!saved->changed.empty())
        Q_EMIT noticed(QString::fromStdString(oneSentence(
            saved->changed.front() +
            (saved->changed.size() > 1 ? fmt::format(" (And {} more.)", saved->changed.size() - 1) : std::string()))));
}

void Session::open(const QString& path) {
    if (looksLikeSession(path.toStdString())) return openSaved(path, {});
    d->openJob.cancel();
    d->openJob = Job();
    d->decoding.reset();
    d->opening = true;
    if (path != d->wanted.path) {
        d->wanted = {};
        d->saved.reset();
    }
    Q_EMIT opening(path);
    const auto work = [path = path.toStdString()](const Job&) -> Result<Opened> {
        auto model = openModel(path);
        if (!model) return tl::unexpected(model.error());
        return Opened{freedOnPool(*model), freedOnPool(layoutOf(**model)), hasStoredTensors(**model)};
    };
    runJob<Opened>(this, d->openJob, work, [this](Result<Opened> opened) {
        d->opening = false;
        if (!opened) {
            d->wanted = {};
            d->saved.reset();
            Q_EMIT failed(QString::fromStdString(oneSentence(opened.error().message)));
            return endedInLane();
        }
        adopt(std::move(*opened));
    });
}

void Session::decodeStored() {
    if (!model_ || !stored_) return;
    d->decoding = std::make_unique<LaneWork>(*this, "Decoding stored tensors");
    const auto work = [model = model_](const Job& job) -> Result<Opened> {
        auto served = servedModel(model, job);
        if (!served) return tl::unexpected(served.error());
        return Opened{freedOnPool(*served), freedOnPool(layoutOf(**served))};
    };
    runJob<Opened>(this, d->decoding->job(), work, [this](Result<Opened> opened) {
        const auto over = std::move(d->decoding);
        if (!opened) {
            Q_EMIT failed(QString::fromStdString(oneSentence(opened.error().message)));
            return;
        }
        d->wanted = state(); // the specs, and the page
        adopt(std::move(*opened));
    });
}

void Session::adopt(Opened opened) {
    {
        const QScopedValueRollback replacing(d->replacing, true); // the pages are told once, of the new one
        close();
    }
    model_ = std::move(opened.model);
    layout_ = std::move(opened.layout);
    stored_ = opened.stored;
    d->sweep.setModel(model_, weights());
    const auto path = QString::fromStdString(model_->path);
    d->recent.removeAll(path);
    d->recent.prepend(path);
    while (d->recent.size() > kRecent) d->recent.removeLast();

    if (d->saved && d->saved->changed.empty())
        for (auto& [name, text] : d->saved->file.kept) {
            const auto held = std::make_shared<const std::string>(std::move(text));
            d->kept[QString::fromStdString(name)] = {[held] { return *held; }, held, ++d->keptNumber};
        }
    const auto wanted = std::exchange(d->wanted, {});
    const auto settings = [this] { return std::tuple(specA_, specB_, comparing_, metric_); };
    const auto before = settings();
    if (!wanted.path.isEmpty()) {
        if (const auto a = savedSpec(wanted.specA.toStdString())) specA_ = *a;
        if (const auto b = savedSpec(wanted.specB.toStdString())) specB_ = *b;
        comparing_ = wanted.comparing;
        if (findMetric(wanted.metric.toStdString())) metric_ = wanted.metric;
    }
    tensor_ = model_->find(wanted.tensor.toStdString());
    if (!tensor_) tensor_ = layout_->firstWeight(*model_);
    if (tensor_) selection_ = {tensor_};

    Q_EMIT modelChanged();
    if (settings() != before) Q_EMIT specChanged();
    Q_EMIT tensorChanged();
    Q_EMIT selectionChanged();
    applySaved();
    inspect(true, comparing_);
    d->settle.start();
    // In turns of their own: the start page lists files anew, a page is built when it is first shown.
    QTimer::singleShot(0, this, &Session::recentFilesChanged);
    const auto page = !wanted.page.isEmpty()            ? wanted.page
                      : page_ == QLatin1String("start") ? QStringLiteral("overview")
                                                        : page_;
    QTimer::singleShot(0, this, [this, page, before = page_] {
        if (model_ && page_ == before) showPage(page);
    });
}

void Session::close() {
    d->settle.stop();
    d->probeA.forget();
    d->probeB.forget();
    d->sweep.setModel(nullptr, {});
    d->decoding.reset();
    d->kept.clear();
    stored_ = false;
    const bool had = model_ != nullptr;
    tensor_ = nullptr;
    selection_.clear();
    layout_ = std::make_shared<ModelLayout>();
    currentA_ = currentB_ = nullptr;
    stale_ = false;
    model_.reset();
    setInputs({});
    if (had && !d->replacing) Q_EMIT modelChanged();
}

QStringList Session::recentFiles() const { return d->recent; }

void Session::addRecentFile(const QString& path) {
    d->recent.removeAll(path);
    d->recent.prepend(path);
    while (d->recent.size() > kRecent) d->recent.removeLast();
    Q_EMIT recentFilesChanged();
}

void Session::setRecentFiles(const QStringList& paths) {
    const auto work = [paths](const Job&) -> Result<QStringList> {
        QStringList existing;
        for (const auto& path : paths)
            if (QFileInfo::exists(path)) existing << path;
        return existing;
    };
    runJob<QStringList>(this, Job(), work, [this](Result<QStringList> existing) {
        if (!existing) return;
        for (const auto& path : *existing)
            if (!d->recent.contains(path) && d->recent.size() < kRecent) d->recent << path;
        Q_EMIT recentFilesChanged();
    });
}

QString Session::samplePath() {
    const QDir binary(QCoreApplication::applicationDirPath());
    for (const char* place : {"samples/tiny-llama", "../share/quantscope/samples/tiny-llama",
                              "../../../resources/samples/tiny-llama", "../../resources/samples/tiny-llama"}) {
        const auto path = QDir::cleanPath(binary.absoluteFilePath(QLatin1String(place)));
        if (QFileInfo(path).isDir()) return path;
    }
    return {};
}

} // namespace qs::gui
