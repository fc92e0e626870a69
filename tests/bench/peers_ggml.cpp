// SPDX-License-Identifier: GPL-3.0-or-later
// ggml through its C interface. Weights use the buffer type that repacks them, if it accepts them.
#include "tests/bench/peers.h"

#include <cstdio>
#include <memory>

namespace qs::bench {
namespace {

// Declarations as in the headers of ggml.
struct InitParams {
    std::size_t size;
    void* buffer;
    bool noAlloc;
};
struct Ggml {
    void* (*init)(InitParams);
    void* (*newTensor2d)(void*, int type, std::int64_t, std::int64_t);
    void* (*mulMat)(void*, void*, void*);
    void* (*newGraph)(void*);
    void (*expand)(void*, void*);
    std::size_t (*rowSize)(int type, std::int64_t);
    std::size_t (*quantize)(int type, const float*, void*, std::int64_t, std::int64_t, std::int64_t, const float*);
    void (*quantizeInit)(int type);
    void* (*allocate)(void* context, void* bufferType);
    void (*set)(void* tensor, const void*, std::size_t, std::size_t);
    void (*get)(const void* tensor, void*, std::size_t, std::size_t);
    int (*compute)(void* backend, void* graph);
    void* (*cpuInit)();
    void (*setThreads)(void*, int);
    void* (*cpuBuffers)();
    void* (*cpuRegistry)();
    void* (*device)(void*, std::size_t);
    void* (*address)(void*, const char*);
    const char* (*version)();
    std::string problem;
};

Ggml load(const std::string& folder) {
    Ggml g{};
    Library base(folder + "/libggml-base.so"), cpu(folder + "/libggml-cpu.so");
    base.find(g.init, "ggml_init"), base.find(g.newTensor2d, "ggml_new_tensor_2d");
    base.find(g.mulMat, "ggml_mul_mat"), base.find(g.newGraph, "ggml_new_graph");
    base.find(g.expand, "ggml_build_forward_expand"), base.find(g.rowSize, "ggml_row_size");
    base.find(g.quantize, "ggml_quantize_chunk"), base.find(g.quantizeInit, "ggml_quantize_init");
    base.find(g.allocate, "ggml_backend_alloc_ctx_tensors_from_buft");
    base.find(g.set, "ggml_backend_tensor_set"), base.find(g.get, "ggml_backend_tensor_get");
    base.find(g.compute, "ggml_backend_graph_compute"), base.find(g.cpuBuffers, "ggml_backend_cpu_buffer_type");
    base.find(g.device, "ggml_backend_reg_dev_get"), base.find(g.address, "ggml_backend_reg_get_proc_address");
    base.find(g.version, "ggml_version");
    cpu.find(g.cpuInit, "ggml_backend_cpu_init"), cpu.find(g.setThreads, "ggml_backend_cpu_set_n_threads");
    cpu.find(g.cpuRegistry, "ggml_backend_cpu_reg");
    g.problem = !base.problem().empty() ? base.problem() : cpu.problem();
    return g;
}

struct Type {
    const char* name;
    int id;
    bool product, quantize;
};
constexpr Type kTypes[] = {{"Q4_0", 2, true, true},    {"Q8_0", 8, true, true},    {"TQ2_0", 35, true, true},
                           {"IQ4_NL", 20, true, true}, {"MXFP4", 39, false, true}, {"BF16", 30, true, false}};

struct Product {
    std::vector<void*> graphs;
    Aligned<float> y;
    void *backend, *result;
};

bool addProduct(const Ggml& g, const Contest& c, const Type& type, void* bufferType, const char* how,
                Contestants& all) {
    const std::size_t bytes = g.rowSize(type.id, std::int64_t(c.k)) * c.n, copies = c.copies(bytes);
    Aligned<std::uint8_t> stored(bytes);
    g.quantizeInit(type.id);
    g.quantize(type.id, c.w, stored.data(), 0, std::int64_t(c.n), std::int64_t(c.k), nullptr);
    auto p = std::make_shared<Product>();
    p->backend = g.cpuInit();
    g.setThreads(p->backend, c.threads);
    void* weights = g.init({(copies + 2) << 10, nullptr, true});
    void* values = g.init({(copies + 1) << 17, nullptr, true});
    std::vector<void*> w;
    for (std::size_t i = 0; i < copies; ++i)
        w.push_back(g.newTensor2d(weights, type.id, std::int64_t(c.k), std::int64_t(c.n)));
    if (!g.allocate(weights, bufferType)) return false;
    for (void* tensor : w) g.set(tensor, stored.data(), 0, bytes);
    void* x = g.newTensor2d(values, 0, std::int64_t(c.k), std::int64_t(c.m));
    std::vector<void*> y;
    for (void* tensor : w) {
        y.push_back(g.mulMat(values, tensor, x));
        p->graphs.push_back(g.newGraph(values));
        g.expand(p->graphs.back(), y.back());
    }
    if (!g.allocate(values, g.cpuBuffers())) return false;
    g.set(x, c.x, 0, c.m * c.k * 4);
    p->y = Aligned<float>(c.m * c.n), p->result = y[0];
    all.push_back({std::string("ggml ") + type.name + how, bytes, copies,
                   [p, g](std::size_t copy) { g.compute(p->backend, p->graphs[copy]); },
                   [p, g, n = c.n](std::size_t row, std::size_t i) {
                       g.get(p->result, p->y.data(), 0, p->y.size() * 4); // the first copy; all copies are the same
                       return p->y[row * n + i];
                   }});
    return true;
}

} // namespace

void addGgml(const Contest& c, Contestants& all) {
    if (c.ggml.empty()) return;
    const Ggml g = load(c.ggml);
    if (!g.problem.empty()) return void(std::printf("ggml: %s\n", g.problem.c_str()));
    std::printf("ggml: %s\n", g.version());
    void* registry = g.cpuRegistry();
    using Extra = void** (*)(void* device);
    const auto extra = reinterpret_cast<Extra>(g.address(registry, "ggml_backend_dev_get_extra_bufts"));
    void** repacking = extra ? extra(g.device(registry, 0)) : nullptr;
    for (const Type& type : kTypes) {
        if (!type.product) continue;
        const std::string name = type.name;
        const bool repacked = repacking && *repacking && name == "Q4_0";
        addProduct(g, c, type, repacked ? *repacking : g.cpuBuffers(), repacked ? ", repacked" : "", all);
    }
}

void addGgmlCoders(const Contest& c, Contestants& all) {
    if (c.ggml.empty()) return;
    const Ggml g = load(c.ggml);
    if (!g.problem.empty()) return void(std::printf("ggml: %s\n", g.problem.c_str()));
    if (c.threads != 1) return; // ggml quantizes on the calling thread
    Library cpu(c.ggml + "/libggml-cpu.so");
    using QuantizeRow = void(const float*, void*, std::int64_t);
    QuantizeRow* quantizeRow8 =
        nullptr; // the function ggml uses for activations; ggml_quantize_chunk takes 40 times longer
    cpu.find(quantizeRow8, "quantize_row_q8_0");
    for (const Type& type : kTypes) {
        if (!type.quantize) continue;
        g.quantizeInit(type.id);
        auto out = std::make_shared<Aligned<std::uint8_t>>(g.rowSize(type.id, std::int64_t(c.k)) * c.n);
        const std::size_t bytes = c.n * c.k * 4;
        // The slow types quantize only a sixteenth of the rows.
        const bool slow = type.id == 20 || type.id == 39;
        const std::size_t rows = slow ? c.n / 16 : c.n;
        all.push_back({std::string("ggml quantize ") + type.name, bytes / c.n * rows, c.copies(bytes),
                       [g, out, quantizeRow8, id = type.id, rows, &c](std::size_t copy) {
                           if (id == 8 && quantizeRow8)
                               return quantizeRow8(c.w + copy * c.n * c.k, out->data(), std::int64_t(rows * c.k));
                           g.quantize(id, c.w + copy * c.n * c.k, out->data(), 0, std::int64_t(rows), std::int64_t(c.k),
                                      nullptr);
                       }});
    }
}

} // namespace qs::bench
