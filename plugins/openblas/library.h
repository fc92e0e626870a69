// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// libopenblas, loaded at run time with a chosen core type; its few prototypes are declared here, so that no header of
// it is needed.

#include "kernels/thread_team.h"
#include "plugins/common/pinned_threads.h"
#include "plugins/common/shared_library.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace qs::openblas {

inline constexpr const char* kSoname = "libopenblas.so.0";

/// Which core type to load with, and who says so.
struct CoreType {
    std::string name;   ///< empty: OpenBLAS detects it
    std::string origin; ///< "option", "features of the processor", "environment", "OpenBLAS itself"
};
/// `wanted`: the option, "default" or a name, or nullptr. The features count before the environment, whose variable is
/// often set for the sake of equal digits on unequal machines: a yardstick must not be slowed by what nobody set for
/// it.
CoreType chooseCoreType(const char* wanted);

class Library {
public:
    /// Throws plugin::Refusal with what is missing. threads 0: one for every usable CPU.
    Library(const std::string& name, const CoreType& coreType, std::size_t threads);

    /// y[M,N] = x[M,K] W with W [K,N], or W^T with W [N,K]. `add`: to what y holds.
    void multiply(std::int64_t m, std::int64_t n, std::int64_t k, const float* x, const float* w, bool wIsKn, float* y,
                  bool add) const;
    /// The same for M = 1, always added to y.
    void addVector(std::int64_t n, std::int64_t k, const float* x, const float* w, bool wIsKn, float* y) const;

    ThreadTeam& team() const { return *team_; } ///< as many threads as OpenBLAS uses, on the same CPUs
    std::string describe() const;               ///< JSON
    std::string coreName() const { return coreName_ ? coreName_() : "unknown"; } ///< as OpenBLAS calls it
    const CoreType& coreType() const { return coreType_; }
    /// Speed of a product on all threads over that on one; 1 with one thread.
    double scaling() const { return scaling_; }

private:
    using Gemm = void (*)(int order, int transA, int transB, int m, int n, int k, float alpha, const float* a, int lda,
                          const float* b, int ldb, float beta, float* c, int ldc);
    using Gemv = void (*)(int order, int trans, int m, int n, float alpha, const float* a, int lda, const float* x,
                          int incx, float beta, float* y, int incy);
    using SetThreads = void (*)(int);
    using Text = char* (*)();

    double measureScaling() const;

    plugin::SharedLibrary library_;
    CoreType coreType_;
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
