// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/session_saver.h"

#include "app/gui/output_check.h"
#include "app/gui/sentence.h"
#include "app/gui/session.h"
#include "app/gui/session_results.h"
#include "app/gui/spec_history.h"
#include "core/export/recipe.h"
#include "core/model/output/atomic_file.h"

#include <QDir>
#include <QFileInfo>
#include <QStandardPaths>
#include <QTimer>

namespace qs::gui {
namespace {

/// bytes; hashing this takes one core a few seconds, once for each file
constexpr std::uint64_t kHashedByItself = std::uint64_t(4) << 30;

QByteArray recipeOf(const Session& session) {
    Recipe recipe;
    if (!session.keepsRest()) recipe.rest = session.spec();
    if (auto rules = parseRules(session.rules().toStdString())) recipe.rules = std::move(*rules);
    return QByteArray::fromStdString(recipeText(recipe));
}

} // namespace

/// Everything that a save needs. Taken on the window's thread without copying a row.
struct SessionSaver::Snapshot {
    SessionState state;
    QByteArray recipe;
    std::vector<SessionStep> history;
    std::size_t at = 0;
    std::shared_ptr<const Model> model;
    std::size_t weights = 0;
    std::vector<std::pair<QuantSpec, ModelRows>> rows;
    std::map<QString, Session::Kept> kept;

    /// Equal contents give equal keys.
    QByteArray key() const {
        QByteArray key =
            (state.path + state.tensor + state.page + state.specA + state.specB + state.metric + state.as).toUtf8() +
            recipe + char('0' + state.comparing) + QByteArray::number(qulonglong(history.size())) + ' ' +
            QByteArray::number(qulonglong(at));
        for (const auto& [spec, known] : rows)
            key += ' ' + QByteArray::fromStdString(canonicalText(spec)) + QByteArray::number(qlonglong(known.size()));
        for (const auto& [name, one] : kept) key += ' ' + name.toUtf8() + QByteArray::number(one.number);
        return key;
    }

    Result<SessionFile> file(std::uint64_t hashed, const Job& job) const {
        SessionFile file;
        file.opened = state.path.toStdString();
        auto sources = sourcesOf(*model, hashed, job);
        if (!sources) return tl::unexpected(sources.error());
        file.sources = std::move(*sources);
        file.recipe = recipe.toStdString();
        file.history = history;
        file.at = at;
        file.view = {{"tensor", state.tensor.toStdString()},
                     {"page", state.page.toStdString()},
                     {"metric", state.metric.toStdString()},
                     {"as", state.as.toStdString()}};
        for (const auto& [spec, known] : rows)
            if (!known.isEmpty()) file.results.push_back(resultsOf(spec, known, weights));
        for (const auto& [name, one] : kept)
            if (auto text = one.text(); text.size() <= kLongestKept)
                file.kept.emplace(name.toStdString(), std::move(text));
        return file;
    }
};

SessionSaver::SessionSaver(Session& session, SpecHistory& history, QObject* parent)
    : QObject(parent), session_(session), history_(history) {
    connect(&session, &Session::sessionOpened, this, &SessionSaver::opened);
    connect(&session, &Session::opening, this, [this] { path_.clear(); });
}

SessionSaver::Snapshot SessionSaver::snapshot() const {
    Snapshot now{session_.state(),
                 recipeOf(session_),
                 history_.steps(),
                 history_.at(),
                 session_.model(),
                 session_.weights().size(),
                 {},
                 session_.kept()};
    for (const auto& spec : session_.analysedSpecs()) now.rows.emplace_back(spec, session_.modelRows(spec));
    return now;
}

void SessionSaver::save(const QString& path) {
    if (session_.model()) write(path, false);
}

void SessionSaver::write(const QString& path, bool byItself) {
    const auto work = [now = snapshot(), path, byItself,
                       check = outputCheck(session_)](const Job& job) -> Result<bool> {
        if (byItself) QDir().mkpath(QFileInfo(path).path());
        const auto file = now.file(byItself ? kHashedByItself : UINT64_MAX, job);
        if (!file) return tl::unexpected(file.error());
        if (!byItself)
            if (auto fine = check(path.toStdString()); !fine) return tl::unexpected(fine.error());
        if (auto written = writeSession(path.toStdString(), *file, job); !written)
            return tl::unexpected(written.error());
        return true;
    };
    const auto done = [this, path, byItself](const Result<bool>& written) {
        if (!written) return Q_EMIT session_.failed(errorSentence(written.error()));
        if (!byItself) {
            path_ = path;
            session_.addRecentFile(path);
        }
        Q_EMIT saved(path);
    };
    if (byItself) return autosave_.run({}, work, done);
    Task::once(this, work, done); // every request is served
}

void SessionSaver::startAutosave(int milliseconds) {
    auto* timer = new QTimer(this);
    connect(timer, &QTimer::timeout, this, [this] {
        if (!session_.model() || autosave_.running()) return;
        const auto key = snapshot().key();
        if (key == written_) return;
        written_ = key;
        write(autosavePath(), true);
    });
    timer->start(milliseconds);
}

QString SessionSaver::autosavePath() {
    return QStandardPaths::writableLocation(QStandardPaths::AppDataLocation) + QStringLiteral("/autosave.qscope");
}

QString SessionSaver::recoveredPath() {
    return QStandardPaths::writableLocation(QStandardPaths::AppDataLocation) + QStringLiteral("/recovered.qscope");
}

void SessionSaver::opened(const SessionFile& file, const QString& path) {
    // the user did not choose these paths
    path_ = path == autosavePath() || path == recoveredPath() ? QString() : path;
    if (!path_.isEmpty()) session_.addRecentFile(path_);
    history_.restore(file.history, file.at);
}

} // namespace qs::gui
