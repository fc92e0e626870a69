// SPDX-License-Identifier: GPL-3.0-or-later
// OpenBLAS and the CPU library of bitsandbytes.
#include "kernels/small_float.h"
#include "tests/bench/peers.h"

#include <cstdio>
#include <dlfcn.h>
#include <memory>

namespace qs::bench {

Library::Library(const std::string& path) : handle_(::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL)) {
    if (!handle_) problem_ = ::dlerror();
}
void* Library::symbol(const char* name) {
    if (!handle_) return nullptr;
    void* found = ::dlsym(handle_, name);
    if (!found && problem_.empty()) problem_ = std::string(name) + " is missing";
    return found;
}

void setOpenMpThreads(int threads) {
    using Set = void(int);
    if (void* found = ::dlsym(RTLD_DEFAULT, "omp_set_num_threads")) reinterpret_cast<Set*>(found)(threads);
}

void addOpenBlas(const Contest& c, Contestants& all) {
    if (c.openblas.empty()) return;
    if (!c.coreType.empty())
        ::setenv("OPENBLAS_CORETYPE", c.coreType.c_str(), 1); // OpenBLAS reads it when it is
                                                              // loaded
    Library library(c.openblas);
    void (*setThreads)(int) = nullptr;
    const char* (*config)() = nullptr;
    void (*sgemm)(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*, int) =
        nullptr;
    void (*sgemv)(int, int, int, int, float, const float*, int, const float*, int, float, float*, int) = nullptr;
    library.find(setThreads, "openblas_set_num_threads"), library.find(config, "openblas_get_config");
    library.find(sgemm, "cblas_sgemm"), library.find(sgemv, "cblas_sgemv");
    if (!library.problem().empty()) return void(std::printf("OpenBLAS: %s\n", library.problem().c_str()));
    setThreads(c.threads);
    std::printf("OpenBLAS: %s\n", config());
    struct Product {
        std::vector<Aligned<float>> w;
        Aligned<float> y;
    };
    auto p = std::make_shared<Product>();
    const std::size_t bytes = c.n * c.k * 4;
    p->y = Aligned<float>(c.m * c.n);
    for (std::size_t i = 0; i < c.copies(bytes); ++i) {
        p->w.emplace_back(c.n * c.k);
        std::memcpy(p->w.back().data(), c.w, bytes);
    }
    constexpr int kRowMajor = 101, kPlain = 111, kTransposed = 112;
    const int m = int(c.m), n = int(c.n), k = int(c.k);
    all.push_back({"OpenBLAS f32", bytes, p->w.size(),
                   [=, x = c.x](std::size_t copy) {
                       const float* w = p->w[copy].data();
                       if (m == 1)
                           sgemv(kRowMajor, kPlain, n, k, 1.0f, w, k, x, 1, 0.0f, p->y.data(), 1);
                       else
                           sgemm(kRowMajor, kPlain, kTransposed, m, n, k, 1.0f, x, k, w, k, 0.0f, p->y.data(), n);
                   },
                   [p, n = c.n](std::size_t row, std::size_t i) { return p->y[row * n + i]; }});
}

void addBitsAndBytes(const Contest& c, Contestants& all) {
    if (c.bitsandbytes.empty() || c.n % 32) return;
    Library library(c.bitsandbytes);
    using Product = void(std::int64_t, std::int64_t, std::int64_t, const void*, const void*, const void*, void*,
                         std::int64_t, std::int64_t, std::int64_t);
    Product* product = nullptr;
    library.find(product, "gemv_4bit_inference_cpu_nf4_bf16");
    if (!library.problem().empty()) return void(std::printf("bitsandbytes: %s\n", library.problem().c_str()));
    setOpenMpThreads(c.threads);
    struct Copy {
        Aligned<std::uint8_t> w;
        Aligned<std::uint16_t> absmax;
    };
    struct Kept {
        std::vector<Copy> copies;
        Aligned<std::uint16_t> x, y;
    };
    auto kept = std::make_shared<Kept>();
    const StoredNf4 stored(c);
    constexpr std::size_t kBlock = 64, kRows = 32;
    // Its layout for 32 channels and two k: byte j holds channel j/2 (low bits) and channel 16 + j/2 (high bits). k is
    // even for even j.
    Copy copy{Aligned<std::uint8_t>(c.n * c.k / 2), Aligned<std::uint16_t>(c.n * c.k / kBlock)};
    for (std::size_t n = 0; n < c.n; n += kRows)
        for (std::size_t k = 0; k < c.k; k += 2)
            for (std::size_t j = 0; j < kRows; ++j) {
                const auto code = [&](std::size_t row) {
                    const int pair = stored.packed[(row * c.k + k) / 2];
                    return j % 2 ? pair & 15 : pair >> 4;
                };
                copy.w[n * c.k / 2 + k / 2 * kRows + j] =
                    std::uint8_t(code(n + j / 2) | code(n + kRows / 2 + j / 2) << 4);
            }
    for (std::size_t n = 0; n < c.n; ++n)
        for (std::size_t b = 0; b < c.k / kBlock; ++b)
            copy.absmax[b * c.n + n] = f32ToBf16(stored.absmax[n * (c.k / kBlock) + b]);
    const std::size_t bytes = copy.w.size() + copy.absmax.size() * 2, copies = c.copies(bytes);
    for (std::size_t i = 0; i < copies; ++i) kept->copies.push_back(copy);
    kept->x = Aligned<std::uint16_t>(c.m * c.k), kept->y = Aligned<std::uint16_t>(c.m * c.n);
    for (std::size_t i = 0; i < kept->x.size(); ++i) kept->x[i] = f32ToBf16(c.x[i]);
    all.push_back({"bitsandbytes nf4 bf16", bytes, copies,
                   [kept, product, m = std::int64_t(c.m), n = std::int64_t(c.n), k = std::int64_t(c.k)](std::size_t i) {
                       product(m, n, k, kept->x.data(), kept->copies[i].w.data(), kept->copies[i].absmax.data(),
                               kept->y.data(), kBlock, k, n);
                   },
                   [kept, n = c.n](std::size_t row, std::size_t i) { return bf16ToF32(kept->y[row * n + i]); }});
}

void addBitsAndBytesCoder(const Contest& c, Contestants& all) {
    if (c.bitsandbytes.empty()) return;
    Library library(c.bitsandbytes);
    using Dequantize = void(const void*, const float*, float*, long long, long long, long long);
    Dequantize* dequantize = nullptr;
    library.find(dequantize, "cdequantize_blockwise_cpu_nf4_fp32");
    if (!library.problem().empty()) return void(std::printf("bitsandbytes: %s\n", library.problem().c_str()));
    setOpenMpThreads(c.threads);
    struct Kept {
        StoredNf4 nf4;
        Aligned<float> out;
    };
    auto kept = std::make_shared<Kept>(Kept{StoredNf4(c), Aligned<float>(c.n * c.k)});
    all.push_back({"bitsandbytes dequantize nf4 to f32", c.n * c.k * 4, 1,
                   [kept, dequantize, n = (long long)(c.n), k = (long long)(c.k)](std::size_t) {
                       dequantize(kept->nf4.packed.data(), kept->nf4.absmax.data(), kept->out.data(), 64, n, k);
                   },
                   [kept, k = c.k](std::size_t row, std::size_t i) { return kept->out[row * k + i]; }});
}

} // namespace qs::bench
