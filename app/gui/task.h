// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Runs work on a worker thread. Messages, progress and the result of the work arrive on the window's thread. Nothing
// arrives after cancel(), drop() or the destruction of the Task.

#include "app/gui/sentence.h"
#include "core/base/job_scope.h"
#include "core/base/result.h"
#include "core/base/text.h"

#include <QCoreApplication>
#include <QElapsedTimer>
#include <QObject>
#include <QPointer>
#include <QThreadPool>
#include <QTimer>

#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace qs::gui {

class Task;

/// The tasks that the job lane shows: those with a title. The lane shows the newest one.
class TaskList : public QObject {
    Q_OBJECT
public:
    bool busy() const { return !shown_.empty(); }
    void cancelAll();
    /// What a cancel keeps of all tasks, e.g. "4 of 30 plans are measured and kept"; "": nothing that they say.
    QString kept() const;
    struct Work {
        QString title, kept; ///< kept: as above
        qint64 milliseconds = 0;
    };
    /// The task that has run longest, if that is long: it is not stopped without a question.
    std::optional<Work> longest() const;
    void setLong(qint64 milliseconds) { long_ = milliseconds; } ///< for tests

Q_SIGNALS:
    void progressed(const qs::Progress& progress, double secondsLeft); ///< secondsLeft < 0: unknown
    void ended(); ///< a task has ended, and the newest of the others has reported its progress again

private:
    friend class Task;
    void add(Task& task);
    void remove(Task& task);
    std::vector<Task*> shown_; ///< newest last
    qint64 long_ = 10'000;     ///< ms
};

/// Messages from the work to the window: write() from any thread, take() on the window's thread.
template<class Mail> class Inbox {
public:
    template<class Write> void write(const Write& write) {
        const std::lock_guard guard(lock_);
        if (!mail_) mail_.emplace();
        write(*mail_);
    }
    std::optional<Mail> take() {
        const std::lock_guard guard(lock_);
        return std::exchange(mail_, std::nullopt);
    }

private:
    std::mutex lock_;
    std::optional<Mail> mail_;
};

class Task : public QObject {
    Q_OBJECT
public:
    /// `list`: shows the runs that have a title, and can cancel them.
    explicit Task(TaskList* list = nullptr, QObject* parent = nullptr);
    ~Task() override { drop(); }

    bool running() const { return running_; }
    /// Cancels the previous run, then runs work(job), which returns a Result<T>, on the thread pool. Then done(T) is
    /// called or failed() emitted. A `done` that takes a Result<T> gets both. std::bad_alloc becomes an Error. Title
    /// "": the run is not in the list.
    template<class Work, class Done> void run(const std::string& title, Work work, Done done) {
        begin(title);
        start(std::move(work), std::move(done));
    }
    /// work(job, inbox) can send messages while it runs: arrived(Mail) gets the content of the Inbox<Mail> every
    /// interval(), and once more before done, failed() and cancelled().
    template<class Mail, class Work, class Arrived, class Done>
    void run(const std::string& title, Work work, Arrived arrived, Done done) {
        begin(title);
        const auto inbox = std::make_shared<Inbox<Mail>>();
        collect_ = [inbox, arrived = std::move(arrived)] {
            if (auto mail = inbox->take()) arrived(std::move(*mail));
        };
        poll_.start();
        start([work = std::move(work), inbox](const Job& job) mutable { return work(job, *inbox); }, std::move(done));
    }
    /// Small work runs at once, before this function returns: its result is on the screen one frame earlier.
    template<class Work, class Done> void runOrNow(bool little, Work work, Done done) {
        if (!little) return run({}, std::move(work), std::move(done));
        drop();
        finish(work(Job()), done);
    }
    /// Runs work once without a Task object. The result is dropped when `receiver` is destroyed.
    template<class Work, class Done> static void once(QObject* receiver, Work work, Done done) {
        auto* task = new Task(nullptr, receiver);
        connect(task, &Task::over, task, &QObject::deleteLater);
        task->run({}, std::move(work), std::move(done));
    }
    /// delivers the messages that have arrived, then ends the run
    void cancel();
    void drop(); ///< ends the run; emits nothing
    /// of messages and progress; default 50
    void setInterval(int milliseconds) { poll_.setInterval(milliseconds); }
    /// Says what is kept if the task is cancelled now, as a part of a sentence.
    void setKept(std::function<QString()> kept) { kept_ = std::move(kept); }
    /// Changes progress reports of the work; called on any thread. Without it the title replaces Progress::what.
    void amendProgress(std::function<void(Progress&)> amend) { amend_ = std::move(amend); }

Q_SIGNALS:
    void failed(const QString& sentence);
    void cancelled();
    void over(); ///< emitted after done, failed() or cancelled(): the task no longer runs

private:
    friend class TaskList;
    struct Said { // last progress report of the work
        std::mutex lock;
        Progress progress;
        bool fresh = false;
    };
    void begin(const std::string& title);
    void end();
    void collect();
    void say(); ///< emits the last progress report
    void poll();

    template<class Work, class Done> void start(Work work, Done done) {
        using Answer = std::invoke_result_t<Work&, const Job&>;
        const QPointer<Task> guard(this);
        QThreadPool::globalInstance()->start(
            [guard, job = job_, work = std::move(work), done = std::move(done)]() mutable {
                auto answer = std::make_shared<Answer>(cancelledError());
                if (!job.cancelled()) {
                    try {
                        const JobScope scope(&job);
                        *answer = work(job);
                    } catch (const std::bad_alloc&) {
                        *answer = fail("not enough memory for this step");
                    }
                }
                auto* application = QCoreApplication::instance();
                if (!application) return; // the application is quitting
                auto arrive = [guard, job, answer, done = std::move(done)]() mutable {
                    if (!guard || job.cancelled()) return;
                    guard->collect();
                    if (!guard || job.cancelled()) return;
                    guard->end();
                    guard->finish(std::move(*answer), done);
                };
                QMetaObject::invokeMethod(application, std::move(arrive), Qt::QueuedConnection);
            });
    }
    template<class Answer, class Done> void finish(Answer answer, Done& done) {
        const QPointer<Task> guard(this); // `done` may delete this
        if constexpr (std::is_invocable_v<Done&, Answer>)
            done(std::move(answer));
        else if (answer)
            done(std::move(*answer));
        else if (!answer.error().cancelled)
            Q_EMIT failed(errorSentence(answer.error()));
        if (guard) Q_EMIT over();
    }

    QPointer<TaskList> list_;
    std::string title_;
    Job job_;
    std::function<void()> collect_;
    std::function<void(Progress&)> amend_;
    std::function<QString()> kept_;
    std::shared_ptr<Said> said_;
    QTimer poll_;
    QElapsedTimer clock_;
    bool running_ = false;
};

/// A pointer whose memory is freed on the thread pool: freeing names and rows of 100,000 tensors takes longer than a
/// frame.
template<class T> std::shared_ptr<T> freedOnPool(std::shared_ptr<T> owned) {
    auto* raw = owned.get();
    return std::shared_ptr<T>(raw, [owned = std::move(owned)](T*) mutable {
        if (auto* pool = QThreadPool::globalInstance())
            pool->start([last = std::move(owned)]() mutable { last.reset(); });
    });
}

} // namespace qs::gui
