// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/bench/backend.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>

namespace qs {
namespace {

namespace fs = std::filesystem;

/// An option that an environment variable gives where nobody else did; the first row that is set wins.
struct FromEnvironment {
    const char* option;
    const char* variable;
};
/// What is shipped, in the order of the rows.
struct Shipped {
    const char* id;
    bool linkedIn;
    std::array<FromEnvironment, 4> environment;
};
constexpr Shipped kShipped[] = {
    {"cpu", true, {}},
    {"openblas", false, {}},
    {"cuda", false, {}},
    {"pjrt",
     false,
     {{{"path", "QUANTSCOPE_PJRT_PLUGIN"},
       {"path", "TPU_LIBRARY_PATH"},
       {"topology", "QUANTSCOPE_PJRT_TOPOLOGY"},
       {"chips_per_host_bounds", "QUANTSCOPE_PJRT_CHIPS_PER_HOST"}}}},
};

fs::path moduleFolder() {
    std::error_code error;
    const auto self = fs::read_symlink("/proc/self/exe", error);
    return self.parent_path().parent_path() / "lib" / "quantscope" / "backends";
}

} // namespace

std::vector<BackendSource> backendSources(std::span<const std::string> plugins, const Options& options) {
    std::vector<BackendSource> sources;
    std::error_code error;
    for (const auto& shipped : kShipped) {
        BackendSource source;
        source.id = shipped.id;
        source.options = options;
        if (!shipped.linkedIn) {
            source.path = (moduleFolder() / (source.id + ".so")).string();
            source.built = fs::is_regular_file(source.path, error);
        }
        for (const auto& [option, variable] : shipped.environment) {
            if (!variable) break;
            const char* value = std::getenv(variable);
            const bool given = std::any_of(source.options.begin(), source.options.end(),
                                           [&, name = option](const auto& o) { return o.first == name; });
            if (value && *value && !given) source.options.emplace_back(option, value);
        }
        sources.push_back(std::move(source));
    }
    for (const auto& plugin : plugins) {
        BackendSource source;
        const auto path = fs::absolute(plugin, error); // a bare name would be searched for among the system's libraries
        source.path = error ? plugin : path.lexically_normal().string();
        source.id = fs::path(plugin).filename().string();
        source.options = options;
        source.shipped = false;
        sources.push_back(std::move(source));
    }
    return sources;
}

} // namespace qs
