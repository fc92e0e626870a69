// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/worker/environment.h"

#include <algorithm>
#include <iterator>

namespace qs::worker {
namespace {

constexpr const char* kXlaFlags = "xla_flags";

} // namespace

Environment chooseEnvironment(const Options& options, const char* (*current)(const char* name)) {
    Environment environment;
    const auto set = [&](const char* name, const std::string& value) {
        environment.set.emplace_back(name, value);
        environment.report.emplace_back(name, value);
    };
    const auto unlessSet = [&](const char* name, const std::string& value) {
        if (const char* users = current(name))
            environment.report.emplace_back(name, users);
        else
            set(name, value);
    };
    unlessSet("TF_CPP_MIN_LOG_LEVEL", "1"); // print warnings and errors only
    const auto flags =
        std::find_if(options.rbegin(), options.rend(), [](const auto& option) { return option.first == kXlaFlags; });
    if (flags != options.rend())
        set("XLA_FLAGS", flags->second);
    else if (const char* users = current("XLA_FLAGS"))
        environment.report.emplace_back("XLA_FLAGS", users);
    return environment;
}

Options pluginOptions(const Options& options) {
    Options rest;
    std::copy_if(options.begin(), options.end(), std::back_inserter(rest),
                 [](const auto& option) { return option.first != kXlaFlags; });
    return rest;
}

} // namespace qs::worker
