// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// An open backend with its plugin; runs a problem through all variants.

#include "made_problem.h"
#include "module_table.h"

#include <functional>
#include <utility>

namespace qs::test {

using Pairs = std::vector<std::pair<std::string, std::string>>;

class OpenedBackend {
public:
    explicit OpenedBackend(const Pairs& options) {
        std::vector<qs_kv> kv;
        for (const auto& [key, value] : options) kv.push_back({key.c_str(), value.c_str()});
        code = table->open(nullptr, kv.data(), std::uint32_t(kv.size()), &context, &error);
    }
    ~OpenedBackend() { table->close(context); }
    OpenedBackend(const OpenedBackend&) = delete;
    OpenedBackend& operator=(const OpenedBackend&) = delete;
    std::string text() const { return error.msg; }

    std::vector<qs_variant> variants(MadeProblem& problem) {
        auto support = sized<qs_support>();
        code = table->query(context, 0, problem.problem(), &support, &error);
        level = support.level;
        reason = support.reason;
        std::vector<qs_variant> list;
        for (std::uint32_t i = 0; i < support.n_variants; ++i) {
            auto variant = sized<qs_variant>();
            if (table->variant_get(context, 0, problem.problem(), i, &variant, &error) == QS_OK)
                list.push_back(variant);
        }
        return list;
    }
    /// On failure returns NULL and sets `code` and `error`.
    qs_kernel* prepare(MadeProblem& problem, const char* variant, qs_kernel_info* info = nullptr) {
        qs_kernel* kernel = nullptr;
        const auto in = problem.weights();
        code = table->prepare(context, 0, problem.problem(), variant, in.data(), std::uint32_t(in.size()), &kernel,
                              info, &error);
        return kernel;
    }
    bool execute(qs_kernel* kernel, MadeProblem& problem, MadeTensor& out) {
        const auto acts = problem.acts();
        qs_tensor* target = out.output();
        code = table->execute(kernel, acts.data(), std::uint32_t(acts.size()), &target, 1, &error);
        return code == QS_OK;
    }

    const qs_backend* table = pjrtTable();
    qs_ctx* context = nullptr;
    qs_error error = sized<qs_error>();
    std::int32_t code = QS_OK, level = 0;
    std::string reason;
};

} // namespace qs::test
