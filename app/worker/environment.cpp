// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/worker/environment.h"

#include <algorithm>

namespace qs::worker {
namespace {

constexpr const char* kCoreType = "OPENBLAS_CORETYPE";

const std::string* find(const Options& options, const char* key) {
    const auto at =
        std::find_if(options.rbegin(), options.rend(), [&](const auto& option) { return option.first == key; });
    return at == options.rend() ? nullptr : &at->second;
}

} // namespace

Environment chooseEnvironment(const Options& options, const Machine& machine,
                              const char* (*current)(const char* name)) {
    Environment environment;
    const auto set = [&](const char* name, const std::string& value) {
        environment.set.emplace_back(name, value);
        environment.report.emplace_back(name, value);
    };
    const auto unlessSet = [&](const char* name, const std::string& value) {
        const char* users = current(name);
        if (users)
            environment.report.emplace_back(name, users);
        else
            set(name, value);
    };
    // Without a TPU libtpu asks the cloud's metadata server for one, for ever.
    if (!machine.tpu) unlessSet("TPU_SKIP_MDS_QUERY", "1");
    unlessSet("TF_CPP_MIN_LOG_LEVEL", "1"); // warnings and errors
    if (const auto* flags = find(options, "xla_flags"))
        set("XLA_FLAGS", *flags);
    else if (const char* users = current("XLA_FLAGS"))
        environment.report.emplace_back("XLA_FLAGS", users);

    const auto* asked = find(options, "coretype");
    const auto because = [&](const std::string& why) { environment.report.emplace_back("openblas_coretype", why); };
    const char* const users = current(kCoreType);
    const auto choice = openblasCore(machine.cpu);
    if (asked && *asked == "default") {
        if (users) environment.unset.emplace_back(kCoreType);
        because("left to OpenBLAS");
    } else if (asked && *asked != "auto") {
        set(kCoreType, *asked);
        because("as asked");
    } else if (users && !asked) {
        environment.report.emplace_back(kCoreType, users);
        because("as set in the environment");
    } else if (choice) {
        set(kCoreType, choice->core);
        because("chosen: " + choice->why);
    } else {
        if (users) environment.unset.emplace_back(kCoreType);
        because("left to OpenBLAS, which knows this CPU");
    }
    return environment;
}

Options pluginOptions(const Options& options) {
    Options rest;
    std::copy_if(options.begin(), options.end(), std::back_inserter(rest),
                 [](const auto& option) { return option.first != "coretype" && option.first != "xla_flags"; });
    return rest;
}

} // namespace qs::worker
