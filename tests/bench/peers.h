// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Who takes part in bench_peers: our variants and other libraries, each with the same weights and activations. Others
// are loaded at run time where they are installed, through a few declarations of their public C interfaces.

#include "kernels/matmul.h"
#include "kernels/matmul_operands.h"

#include <functional>
#include <string>

namespace qs::bench {

struct Contest {
    std::size_t n = 4096, k = 4096, m = 1;
    int threads = 1;
    std::size_t coldBytes = std::size_t(512) << 20; ///< copies of the weights together; 0: one copy, warm
    const float* w = nullptr;                       ///< [N,K]
    const float* x = nullptr;                       ///< [M,K]
    bool oneDnn = true;
    std::string ggml, bitsandbytes, openblas, coreType; ///< libraries; empty: not asked for
    std::size_t copies(std::size_t bytes) const { return coldBytes > bytes ? (coldBytes + bytes - 1) / bytes : 1; }
};

struct Contestant {
    std::string name;
    std::size_t bytes = 0; ///< of weights and scales that a run reads
    std::size_t copies = 1;
    std::function<void(std::size_t)> run; ///< on this copy
    /// Of the last run: y[m][n]; of the dequantizers the value there; none: no error to show.
    std::function<float(std::size_t m, std::size_t n)> y{};
};
using Contestants = std::vector<Contestant>;

// Each adds what it can to `all` and says on standard output what it is, or why it is missing.
void addOurProducts(const Contest& contest, ThreadTeam& team, Contestants& all);
void addOurCoders(const Contest& contest, ThreadTeam& team, Contestants& all);
void addOpenBlas(const Contest& contest, Contestants& all);
void addBitsAndBytes(const Contest& contest, Contestants& all);
void addBitsAndBytesCoder(const Contest& contest, Contestants& all);
void addGgml(const Contest& contest, Contestants& all);
void addGgmlCoders(const Contest& contest, Contestants& all);
void addOneDnn(const Contest& contest, Contestants& all);

/// nf4 in blocks of 64 along k as two codes a byte, high first, and absmax; int8 by rows.
struct StoredNf4 {
    explicit StoredNf4(const Contest& contest);
    Aligned<std::uint8_t> packed;
    Aligned<float> absmax;
};
struct StoredInt8 {
    StoredInt8(const float* x, std::size_t rows, std::size_t k);
    Aligned<std::int8_t> q;
    Aligned<float> scales;
};

/// A library that stays loaded; functions by name, the first missing one in `problem`.
class Library {
public:
    explicit Library(const std::string& path);
    template<class F> void find(F*& function, const char* name) { function = reinterpret_cast<F*>(symbol(name)); }
    const std::string& problem() const { return m_problem; }

private:
    void* symbol(const char* name);
    void* m_handle = nullptr;
    std::string m_problem;
};
void setOpenMpThreads(int threads); ///< of the OpenMP run time that is loaded, if any

} // namespace qs::bench
