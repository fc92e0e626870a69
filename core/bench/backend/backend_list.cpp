// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/bench/backend/backend_list.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace qs {
namespace {

constexpr std::size_t kAtOnce = 4;         ///< each may start a vendor runtime
constexpr std::chrono::seconds kSilent{4}; ///< no row for so long: the user hears which are waited for

BackendRow failed(BackendRow row, const Failure& failure) {
    // A failure code of a plugin that works otherwise means that it does not run here.
    row.status = failure.state == RowState::Failed ? RowState::Unavailable : failure.state;
    row.reason = failure.reason;
    if (!failure.hint.empty()) row.hint = failure.hint;
    return row;
}

std::vector<BackendRow> devicesOf(BackendRow row, Backend& backend) {
    if (auto versions = backend.describe())
        row.versions = std::move(*versions);
    else if (versions.error().state != RowState::Declined && versions.error().state != RowState::Failed)
        return {failed(std::move(row), versions.error())};
    const auto devices = backend.devices();
    if (!devices && devices.error().state == RowState::Declined) return {row}; // it has one device without a name
    if (!devices) return {failed(std::move(row), devices.error())};
    if (devices->empty()) return {failed(std::move(row), {RowState::Unavailable, "has no device here"})};
    std::vector<BackendRow> rows;
    for (const auto& device : *devices) {
        rows.push_back(row);
        rows.back().device = device;
    }
    return rows;
}

std::vector<BackendRow> rowsOf(const BackendSource& source, std::size_t index, const Deadlines& deadlines,
                               const Job& job) {
    BackendRow row;
    row.source = index;
    row.backend = source.id;
    if (source.built) row.path = source.path;
    row.shipped = source.shipped;
    const auto probe = probeBackend(source, deadlines, job);
    if (!probe) return {failed(std::move(row), probe.error())};
    row.backend = probe->id;
    row.status = probe->state;
    row.reason = probe->reason;
    row.hint = probe->hint;
    row.name = probe->name;
    row.version = probe->version;
    row.license = probe->license;
    row.isolation = probe->isolation;
    if (probe->state != RowState::Available) return {row};
    const auto backend = openBackend(source, deadlines, job);
    if (!backend) return {failed(std::move(row), backend.error())};
    return devicesOf(std::move(row), **backend);
}

} // namespace

Result<void> listBackends(std::span<const BackendSource> sources, const Job& job,
                          const std::function<void(const BackendRow&)>& onRow, const Deadlines& deadlines,
                          const std::function<void(const std::string& ids)>& onWait) {
    std::vector<bool> known(sources.size());
    bool isWaitSaid = !onWait;
    const auto unknownIds = [&] {
        std::string ids;
        for (std::size_t i = 0; i < sources.size(); ++i)
            if (!known[i]) ids += (ids.empty() ? "" : ", ") + sources[i].id;
        return ids;
    };
    std::atomic<std::size_t> nextSource{0};
    std::mutex mutex;
    std::condition_variable ready;
    std::deque<std::vector<BackendRow>> done;
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < std::min(sources.size(), kAtOnce); ++t)
        threads.emplace_back([&] {
            for (std::size_t i = nextSource++; i < sources.size(); i = nextSource++) {
                auto rows = rowsOf(sources[i], i, deadlines, job);
                const std::lock_guard lock(mutex);
                done.push_back(std::move(rows));
                ready.notify_one();
            }
        });
    for (std::size_t answered = 0; answered < sources.size(); ++answered) {
        job.progress({double(answered), double(sources.size()), "Asking the backends", answered, sources.size()});
        std::unique_lock lock(mutex);
        const auto any = [&] { return !done.empty(); };
        if (!isWaitSaid && !ready.wait_for(lock, kSilent, any)) {
            isWaitSaid = true;
            lock.unlock();
            onWait(unknownIds());
            lock.lock();
        }
        ready.wait(lock, any);
        const auto rows = std::move(done.front());
        done.pop_front();
        known[rows.front().source] = true;
        lock.unlock();
        if (!job.cancelled())
            for (const auto& row : rows) onRow(row);
    }
    for (auto& thread : threads) thread.join();
    if (job.cancelled()) return cancelledError();
    return {};
}

} // namespace qs
