// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/bench/backend.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>

namespace qs {
namespace {

namespace fs = std::filesystem;

/// What is shipped, in the order of the rows. An empty environment list: no option comes from there.
struct Shipped {
    const char* id;
    bool linkedIn;
    std::array<const char*, 2> pathFrom; ///< environment variables that give the option "path"; the first that is set
};
constexpr Shipped kShipped[] = {
    {"cpu", true, {}},
    {"openblas", false, {}},
    {"cuda", false, {}},
    {"pjrt", false, {"QUANTSCOPE_PJRT_PLUGIN", "TPU_LIBRARY_PATH"}},
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
        const bool named = std::any_of(options.begin(), options.end(), [](const auto& o) { return o.first == "path"; });
        for (const char* variable : shipped.pathFrom) {
            const char* value = variable && !named ? std::getenv(variable) : nullptr;
            if (!value || !*value) continue;
            source.options.emplace_back("path", value);
            break;
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
