// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/task.h"

namespace qs::gui {

void TaskList::add(Task& task) {
    shown_.push_back(&task);
    task.say();
}

void TaskList::remove(Task& task) {
    if (std::erase(shown_, &task) == 0) return;
    if (!shown_.empty()) shown_.back()->say();
    Q_EMIT ended();
}

QString TaskList::kept() const {
    QStringList out;
    for (const Task* task : shown_)
        if (const QString one = task->kept_ ? task->kept_() : QString(); !one.isEmpty()) out << one;
    return out.join(QStringLiteral("; "));
}

std::optional<TaskList::Work> TaskList::longest() const {
    std::optional<Work> out;
    for (const Task* task : shown_)
        if (const qint64 ms = task->clock_.elapsed(); ms >= long_ && (!out || ms > out->milliseconds))
            out = Work{QString::fromStdString(task->title_), task->kept_ ? task->kept_() : QString(), ms};
    return out;
}

void TaskList::cancelAll() {
    const std::vector<QPointer<Task>> all(shown_.begin(), shown_.end());
    for (const auto& task : all)
        if (task) task->cancel();
}

Task::Task(TaskList* list, QObject* parent) : QObject(parent), list_(list) {
    poll_.setInterval(50);
    connect(&poll_, &QTimer::timeout, this, &Task::poll);
}

void Task::begin(const std::string& title) {
    drop();
    running_ = true;
    title_ = title;
    if (title.empty() || !list_) {
        job_ = Job();
        return;
    }
    said_ = std::make_shared<Said>();
    said_->progress.what = title;
    if (amend_) amend_(said_->progress);
    job_ = Job([said = said_, title, amend = amend_](Progress progress) {
        if (amend)
            amend(progress);
        else
            progress.what = title;
        const std::lock_guard guard(said->lock);
        said->progress = std::move(progress);
        said->fresh = true;
    });
    clock_.start();
    poll_.start();
    list_->add(*this);
}

void Task::end() {
    job_.cancel();
    poll_.stop();
    collect_ = nullptr;
    said_.reset();
    running_ = false;
    if (list_) list_->remove(*this);
}

void Task::drop() {
    if (running_) end();
}

void Task::cancel() {
    if (!running_) return;
    collect();
    if (!running_) return;
    end();
    const QPointer<Task> guard(this);
    Q_EMIT cancelled();
    if (guard) Q_EMIT over();
}

void Task::collect() {
    if (const auto now = collect_) now(); // this call may end the run
}

void Task::poll() {
    collect();
    if (!said_ || !list_ || list_->shown_.back() != this) return;
    {
        const std::lock_guard guard(said_->lock);
        if (!std::exchange(said_->fresh, false)) return;
    }
    say();
}

void Task::say() {
    Progress now;
    {
        const std::lock_guard guard(said_->lock);
        now = said_->progress;
    }
    const double left = now.done > 0 ? double(clock_.elapsed()) / 1e3 * (now.total - now.done) / now.done : -1;
    Q_EMIT list_->progressed(now, left);
}

} // namespace qs::gui
