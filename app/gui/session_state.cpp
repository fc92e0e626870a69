// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/session_state.h"

#include "app/gui/run_mark.h"
#include "app/gui/session.h"
#include "app/gui/session_saver.h"

#include <QFileInfo>

#include <QSettings>
#include <QThreadPool>
#include <QTimer>

namespace qs::gui {
namespace {

struct Saved {
    SessionState state;
    QStringList recent;
    bool operator==(const Saved&) const = default;
};

void write(const Saved& saved) {
    QSettings settings;
    settings.setValue(QStringLiteral("recent"), saved.recent);
    // Without an open model the previous state stays available.
    if (!saved.state.path.isEmpty()) writeState(settings, saved.state);
}

class Autosave : public QObject {
public:
    Autosave(Session& session, int milliseconds, const QString& folder)
        : QObject(&session), session_(session), mark_(folder) {
        auto* timer = new QTimer(this);
        connect(timer, &QTimer::timeout, this, [this] { save(); });
        timer->start(milliseconds);
    }
    ~Autosave() override {
        if (pending_ != written_) write(pending_);
    }
    /// The session's members no longer exist when its children are destroyed, so that only what was noted earlier is
    /// written then.
    bool anotherDied() const { return mark_.anotherDied(); }
    void note() { pending_ = {session_.state(), session_.recentFiles()}; }

private:
    void save() {
        note();
        if (pending_ == written_) return;
        written_ = pending_;
        QThreadPool::globalInstance()->start([saved = pending_] { write(saved); });
    }
    Session& session_;
    RunMark mark_;
    Saved pending_, written_;
};

} // namespace

QString momentText(const QDateTime& when) {
    const auto time = when.time().toString(QStringLiteral("HH:mm:ss"));
    return when.date() == QDate::currentDate() ? time : when.date().toString(Qt::ISODate) + u' ' + time;
}

SessionState readState(const QSettings& s) {
    const auto text = [&s](const char* key) {
        return s.value(QStringLiteral("session/") + QLatin1String(key)).toString();
    };
    return {.path = text("path"),
            .tensor = text("tensor"),
            .page = text("page"),
            .specA = text("specA"),
            .specB = text("specB"),
            .metric = text("metric"),
            .comparing = s.value(QStringLiteral("session/comparing")).toBool(),
            .as = text("as")};
}

void writeState(QSettings& s, const SessionState& state) {
    const std::pair<const char*, QVariant> values[] = {
        {"path", state.path},   {"tensor", state.tensor}, {"page", state.page},           {"specA", state.specA},
        {"specB", state.specB}, {"metric", state.metric}, {"comparing", state.comparing}, {"as", state.as},
    };
    s.setValue(QStringLiteral("session/when"), QDateTime::currentDateTime());
    for (const auto& [key, value] : values) s.setValue(QStringLiteral("session/") + QLatin1String(key), value);
}

void keepSaved(Session& session, int milliseconds) {
    const QSettings settings;
    session.setRecentFiles(settings.value(QStringLiteral("recent")).toStringList());
    auto last = readState(settings);
    const auto saved = SessionSaver::autosavePath(), kept = SessionSaver::recoveredPath();
    auto* autosave = new Autosave(session, milliseconds, QFileInfo(saved).path());
    const bool died = autosave->anotherDied() && !last.path.isEmpty();
    if (QFileInfo::exists(saved)) last.saved = saved;
    if (died && !last.saved.isEmpty()) { // the next automatic save replaces it
        QFile::remove(kept);
        if (QFile::rename(saved, kept)) last.saved = kept;
    }
    QDateTime diedAt;
    if (died)
        diedAt = last.saved.isEmpty() ? settings.value(QStringLiteral("session/when")).toDateTime()
                                      : QFileInfo(last.saved).lastModified();
    session.setFormerRun({last, diedAt});
    const auto note = [autosave] { autosave->note(); };
    for (auto signal : {&Session::modelChanged, &Session::tensorChanged, &Session::specChanged, &Session::metricChanged,
                        &Session::recentFilesChanged})
        QObject::connect(&session, signal, autosave, note);
    QObject::connect(&session, &Session::pageChanged, autosave, note);
}

} // namespace qs::gui
