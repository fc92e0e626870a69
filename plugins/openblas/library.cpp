// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/openblas/library.h"

#include "kernels/cpu_features.h"
#include "plugins/common/entry.h"
#include "plugins/common/json_text.h"

#include <chrono>
#include <cstdlib>

namespace qs::openblas {
namespace {

constexpr int kRowMajor = 101, kNoTrans = 111, kTrans = 112; // cblas.h
constexpr const char* kVariable = "OPENBLAS_CORETYPE";

/// They live as long as the process: the library is never unloaded.
std::vector<int>& workersOfLibrary() {
    static std::vector<int> ids;
    return ids;
}

} // namespace

CoreType chooseCoreType(const char* wanted) {
    if (wanted && std::string_view(wanted) == "default") return {"", "OpenBLAS itself"};
    if (wanted && *wanted) return {wanted, "option"};
    const char* set = std::getenv(kVariable);
    if (const char* type = openblasCoreType()) {
        const bool over = set && *set && std::string_view(set) != type;
        return {type, "features of the processor" + (over ? std::string(", over ") + set + " of the environment" : "")};
    }
    if (set && *set) return {set, "environment"};
    return {"", "OpenBLAS itself"};
}

Library::Library(const std::string& name, const CoreType& coreType, std::size_t threads)
    : coreType_(coreType), cpus_(plugin::usableCpus()) {
    if (threads) cpus_.resize(std::min(threads, cpus_.size()));
    // Read once, by the library's own constructor.
    if (coreType_.name.empty())
        ::unsetenv(kVariable);
    else
        ::setenv(kVariable, coreType_.name.c_str(), 1);
    team_ = std::make_unique<ThreadTeam>(int(cpus_.size()));
    const std::set<int> before = plugin::threadIds();
    if (!library_.load(name)) throw plugin::Refusal(QS_UNAVAILABLE, library_.problem());
    if (!library_.resolve(gemm_, "cblas_sgemm") || !library_.resolve(gemv_, "cblas_sgemv") ||
        !library_.resolve(setThreads_, "openblas_set_num_threads"))
        throw plugin::Refusal(QS_UNAVAILABLE, library_.path() + " is no OpenBLAS: it lacks cblas_sgemm, cblas_sgemv or "
                                                                "openblas_set_num_threads");
    library_.resolve(config_, "openblas_get_config");
    library_.resolve(coreName_, "openblas_get_corename");
    setThreads_(int(cpus_.size()));
    for (const int id : plugin::threadIds())
        if (!before.contains(id)) workersOfLibrary().push_back(id);
    for (const int id : workersOfLibrary()) // in the order in which they take work
        if (pinned_ + 1 < cpus_.size() && plugin::pinThread(id, cpus_[pinned_ + 1])) ++pinned_;
    if (cpus_.size() > 1) scaling_ = measureScaling();
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
    json.yes("coretype_forced", !coreType_.name.empty());
    if (!coreType_.name.empty()) json.text("coretype", coreType_.name);
    json.text("coretype_from", coreType_.origin);
    json.number("threads", double(cpus_.size())).text("cpus", cpus).yes("pinned", pinned_ + 1 == cpus_.size());
    json.number("thread_scaling", scaling_);
    return json.str();
}

} // namespace qs::openblas
