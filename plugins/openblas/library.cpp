// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/openblas/library.h"

#include "plugins/common/entry.h"
#include "plugins/common/json_text.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>

namespace qs::openblas {
namespace {

constexpr int kRowMajor = 101, kNoTrans = 111, kTrans = 112; // cblas.h

/// Kernel ids of the threads that OpenBLAS has started. They live until the process ends.
std::vector<int>& workersOfLibrary() {
    static std::vector<int> ids;
    return ids;
}

} // namespace

Library::Library(const std::string& name, const CoreType& coreType, std::size_t threads)
    : coreType_(coreType), cpus_(plugin::usableCpus()) {
    if (threads) cpus_.resize(std::min(threads, cpus_.size()));
    team_ = std::make_unique<ThreadTeam>(int(cpus_.size()));
    const std::set<int> before = plugin::threadIds();
    load(name);
    if (!library_.resolve(gemm_, "cblas_sgemm") || !library_.resolve(gemv_, "cblas_sgemv") ||
        !library_.resolve(setThreads_, "openblas_set_num_threads"))
        throw plugin::Refusal(QS_UNAVAILABLE, library_.path() + " is no OpenBLAS: it lacks cblas_sgemm, cblas_sgemv or "
                                                                "openblas_set_num_threads");
    setThreads_(int(cpus_.size()));
    for (const int id : plugin::threadIds())
        if (!before.contains(id)) workersOfLibrary().push_back(id);
    for (const int id : workersOfLibrary()) // OpenBLAS gives work to its threads in this order
        if (pinned_ + 1 < cpus_.size() && plugin::pinThread(id, cpus_[pinned_ + 1])) ++pinned_;
    if (cpus_.size() > 1) scaling_ = measureScaling();
}

void Library::load(const std::string& name) {
    const auto loaded = [&](const std::string& core) {
        // Only the library's constructor reads OPENBLAS_CORETYPE. So a loaded library must be loaded again for another
        // core type. Without DYNAMIC_ARCH the library has one core type, and that would be useless.
        if (library_ && (!config_ || std::string_view(config_()).find("DYNAMIC_ARCH") == std::string_view::npos))
            return coreName();
        if (library_) library_.unload();
        if (core.empty())
            ::unsetenv(kCoreVariable);
        else
            ::setenv(kCoreVariable, core.c_str(), 1);
        if (!library_.load(name)) throw plugin::Refusal(QS_UNAVAILABLE, library_.problem());
        library_.resolve(config_, "openblas_get_config");
        library_.resolve(coreName_, "openblas_get_corename");
        loadedWith_ = core;
        return coreName();
    };
    loadBestCore(coreType_.names, loaded);
}

bool Library::hasPoorCore() const {
    const auto& names = coreType_.names;
    return !names.empty() &&
           std::none_of(names.begin(), names.end(), [&](const auto& each) { return sameCore(each, coreName()); });
}

void Library::multiply(std::int64_t m, std::int64_t n, std::int64_t k, const float* x, const float* w, bool wIsKn,
                       float* y, bool add) const {
    gemm_(kRowMajor, kNoTrans, wIsKn ? kNoTrans : kTrans, int(m), int(n), int(k), 1, x, int(k), w, int(wIsKn ? n : k),
          add ? 1.f : 0.f, y, int(n));
}

void Library::addVector(std::int64_t n, std::int64_t k, const float* x, const float* w, bool wIsKn, float* y) const {
    if (wIsKn)
        gemv_(kRowMajor, kTrans, int(k), int(n), 1, w, int(n), x, 1, 1, y, 1);
    else
        gemv_(kRowMajor, kNoTrans, int(n), int(k), 1, w, int(k), x, 1, 1, y, 1);
}

double Library::measureScaling() const {
    constexpr std::int64_t size = 512;
    const std::vector<float> x(size * size, 0.5f), w(size * size, 0.25f);
    std::vector<float> y(size * size);
    const ThreadTeam::Pin pinned(*team_);
    double best[2] = {1e9, 1e9};
    for (int round = 0; round < 6; ++round)
        for (int all = 0; all < 2; ++all) {
            setThreads_(all ? int(cpus_.size()) : 1);
            const auto start = std::chrono::steady_clock::now();
            multiply(size, size, size, x.data(), w.data(), true, y.data(), false);
            const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
            best[all] = std::min(best[all], took.count());
        }
    return best[0] / best[1];
}

std::string Library::describe() const {
    std::string cpus;
    for (const int cpu : cpus_) cpus += (cpus.empty() ? "" : ",") + std::to_string(cpu);
    plugin::JsonText json;
    json.text("plugin", "1.0").text("library", library_.path());
    json.text("config", config_ ? config_() : "unknown").text("corename", coreName());
    json.yes("coretype_forced", !loadedWith_.empty());
    if (!loadedWith_.empty()) json.text("coretype", loadedWith_).text("coretype_wanted", coreType_.wanted());
    json.text("coretype_from", coreType_.origin);
    json.number("threads", double(cpus_.size())).text("cpus", cpus).yes("pinned", pinned_ + 1 == cpus_.size());
    json.number("thread_scaling", scaling_);
    return json.str();
}

} // namespace qs::openblas
