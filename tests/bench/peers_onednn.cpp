// SPDX-License-Identifier: GPL-3.0-or-later
// Matrix product of oneDNN, with the weights in the layout it chooses.
#include "kernels/small_float.h"
#include "tests/bench/peers.h"

#include <cstdio>
#include <memory>

#ifdef QS_ONEDNN
#include <oneapi/dnnl/dnnl.hpp>
#endif

namespace qs::bench {
#ifdef QS_ONEDNN
namespace {

using dnnl::memory;
using Type = memory::data_type;
using Layout = memory::format_tag;

struct Product {
    dnnl::engine engine{dnnl::engine::kind::cpu, 0};
    dnnl::stream stream{engine};
    dnnl::matmul primitive;
    memory x, y;
    std::vector<memory> w;
};

/// w is [N,K], x is [M,K], of the given types; y is f32 or i32.
std::shared_ptr<Product> prepare(const Contest& c, Type xType, const void* x, Type wType, const void* w, Type yType,
                                 std::size_t* bytes) {
    auto p = std::make_shared<Product>();
    const auto m = memory::dim(c.m), n = memory::dim(c.n), k = memory::dim(c.k);
    const memory::desc xs({m, k}, xType, Layout::ab), ys({m, n}, yType, Layout::ab), any({k, n}, wType, Layout::any);
#if DNNL_VERSION_MAJOR >= 3
    const dnnl::matmul::primitive_desc made(p->engine, xs, any, ys);
#else
    const dnnl::matmul::primitive_desc made(dnnl::matmul::desc(xs, any, ys), p->engine);
#endif
    p->primitive = dnnl::matmul(made);
    p->x = memory(xs, p->engine), p->y = memory(ys, p->engine);
    std::memcpy(p->x.get_data_handle(), x, xs.get_size());
    memory plain({{k, n}, wType, Layout::ba}, p->engine, const_cast<void*>(w));
    *bytes = made.weights_desc().get_size();
    for (std::size_t i = 0; i < c.copies(*bytes); ++i) {
        p->w.emplace_back(made.weights_desc(), p->engine);
        dnnl::reorder(plain, p->w.back()).execute(p->stream, plain, p->w.back());
    }
    p->stream.wait();
    std::printf("oneDNN: %s\n", made.impl_info_str());
    return p;
}
auto runOf(const std::shared_ptr<Product>& p) {
    return [p](std::size_t copy) {
        p->primitive.execute(p->stream, {{DNNL_ARG_SRC, p->x}, {DNNL_ARG_WEIGHTS, p->w[copy]}, {DNNL_ARG_DST, p->y}});
        p->stream.wait();
    };
}

void addBf16(const Contest& c, Contestants& all) {
    std::vector<std::uint16_t> x(c.m * c.k), w(c.n * c.k);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = f32ToBf16(c.x[i]);
    for (std::size_t i = 0; i < w.size(); ++i) w[i] = f32ToBf16(c.w[i]);
    std::size_t bytes = 0;
    const auto p = prepare(c, Type::bf16, x.data(), Type::bf16, w.data(), Type::f32, &bytes);
    all.push_back({"oneDNN bf16", bytes, p->w.size(), runOf(p), [p, n = c.n](std::size_t row, std::size_t i) {
                       return static_cast<const float*>(p->y.get_data_handle())[row * n + i];
                   }});
}

/// Activations are unsigned bytes with an offset of 128. Subtracting the offset is left to the caller and not timed.
void addInt8(const Contest& c, Contestants& all) {
    struct Operands {
        StoredInt8 x, w;
    };
    const auto q = std::make_shared<Operands>(Operands{{c.x, c.m, c.k}, {c.w, c.n, c.k}});
    std::vector<std::uint8_t> x(c.m * c.k);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::uint8_t(q->x.q[i] + 128);
    std::size_t bytes = 0;
    const auto p = prepare(c, Type::u8, x.data(), Type::s8, q->w.q.data(), Type::s32, &bytes);
    all.push_back({"oneDNN u8s8 to i32, unscaled", bytes, p->w.size(), runOf(p),
                   [p, q, n = c.n, k = c.k](std::size_t row, std::size_t i) {
                       std::int64_t sum = 0;
                       for (std::size_t j = 0; j < k; ++j) sum += q->w.q[i * k + j];
                       const auto y = static_cast<const std::int32_t*>(p->y.get_data_handle())[row * n + i];
                       return float(y - 128 * sum) * q->x.scales[row] * q->w.scales[i];
                   }});
}

} // namespace

void addOneDnn(const Contest& c, Contestants& all) {
    if (!c.oneDnn) return;
    setOpenMpThreads(c.threads);
    const dnnl_version_t* version = dnnl_version();
    std::printf("oneDNN: %d.%d.%d\n", version->major, version->minor, version->patch);
    try {
        addBf16(c, all);
        addInt8(c, all);
    } catch (const dnnl::error& error) {
        std::printf("oneDNN: %s\n", error.what());
    }
}
#else
void addOneDnn(const Contest&, Contestants&) { std::printf("oneDNN: not built in (libdnnl-dev)\n"); }
#endif

} // namespace qs::bench
