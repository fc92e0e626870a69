// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Loads libopenblas at run time with a chosen core type. The few function types that are used are declared here, so the
// headers of OpenBLAS are not needed.

#include "kernels/thread_team.h"
#include "plugins/common/pinned_threads.h"
#include "plugins/common/shared_library.h"
#include "plugins/openblas/core_type.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace qs::openblas {

inline constexpr const char* kSoname = "libopenblas.so.0";

class Library {
public:
    /// Throws plugin::Refusal if something is missing. `threads` 0 means one thread for every usable CPU.
    Library(const std::string& name, const CoreType& coreType, std::size_t threads);

    /// y[M,N] = x[M,K] W with W [K,N], or x W^T with W [N,K]. With `add` the product is added to y.
    void multiply(std::int64_t m, std::int64_t n, std::int64_t k, const float* x, const float* w, bool wIsKn, float* y,
                  bool add) const;
    /// The same for M = 1; the product is always added to y.
    void addVector(std::int64_t n, std::int64_t k, const float* x, const float* w, bool wIsKn, float* y) const;

    ThreadTeam& team() const { return *team_; } ///< has as many threads as OpenBLAS uses, on the same CPUs
    std::string describe() const;               ///< JSON text for qs_backend::describe
    std::string coreName() const { return coreName_ ? coreName_() : "unknown"; }       ///< core type that it took
    std::string coreText() const { return openblas::coreText(coreType_, coreName()); } ///< core types wanted and taken
    /// True if the library took a core type for another processor.
    bool hasPoorCore() const;
    /// Speed of a product on all threads, divided by the speed on one thread; 1 with one thread.
    double scaling() const { return scaling_; }

private:
    using Gemm = void (*)(int order, int transA, int transB, int m, int n, int k, float alpha, const float* a, int lda,
                          const float* b, int ldb, float beta, float* c, int ldc);
    using Gemv = void (*)(int order, int trans, int m, int n, float alpha, const float* a, int lda, const float* x,
                          int incx, float beta, float* y, int incy);
    using SetThreads = void (*)(int);
    using Text = char* (*)();

    void load(const std::string& name);
    double measureScaling() const;

    plugin::SharedLibrary library_;
    CoreType coreType_;
    std::string loadedWith_; ///< value of OPENBLAS_CORETYPE when it was loaded; empty: not set
    std::vector<int> cpus_;
    std::unique_ptr<ThreadTeam> team_;
    std::size_t pinned_ = 0;
    double scaling_ = 1;
    Gemm gemm_ = nullptr;
    Gemv gemv_ = nullptr;
    SetThreads setThreads_ = nullptr;
    Text config_ = nullptr, coreName_ = nullptr;
};

} // namespace qs::openblas
