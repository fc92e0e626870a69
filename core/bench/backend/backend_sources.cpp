// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/lists.h"
#include "core/bench/backend/backend.h"

#include "core/base/text.h"
#include "core/bench/backend/source_named.h"
#include "core/process/worker_process.h"
#include "plugins/elf/elf_library.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>

namespace qs {
namespace {

namespace fs = std::filesystem;

/// An option that an environment variable sets if nothing else did; the first row whose variable is set applies.
struct FromEnvironment {
    const char* option;
    const char* variable;
};
/// The shipped backends, in the order of rows.
struct Shipped {
    const char* id;
    bool linkedIn = false;
    bool baseline = false;    ///< BackendSource::baseline
    bool takesPlugin = false; ///< BackendSource::takesPlugin
    std::array<FromEnvironment, 4> environment{};
};
constexpr const char* kPath = "path";
constexpr Shipped kShipped[] = {
    {.id = "cpu", .linkedIn = true},
    {.id = "openblas", .baseline = true},
    {.id = "cuda"},
    {.id = "pjrt",
     .takesPlugin = true,
     .environment = {{{kPath, "QUANTSCOPE_PJRT_PLUGIN"},
                      {kPath, "TPU_LIBRARY_PATH"},
                      {"topology", "QUANTSCOPE_PJRT_TOPOLOGY"},
                      {"chips_per_host_bounds", "QUANTSCOPE_PJRT_CHIPS_PER_HOST"}}}},
};

fs::path moduleFolder() {
    std::error_code error;
    // Not by the running program, which is Python where the module for Python is used.
    const auto worker = fs::weakly_canonical(workerProgram(), error);
    return worker.parent_path().parent_path() / "lib" / "quantscope" / "backends";
}

void setOption(BackendSource& source, const std::string& key, const std::string& value) {
    std::erase_if(source.options, [&](const auto& option) { return option.first == key; });
    source.options.emplace_back(key, value);
}

bool isKey(std::string_view text) {
    const auto end = text.find('=');
    return end != std::string_view::npos && end > 0 &&
           text.substr(0, end).find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string_view::npos;
}

} // namespace

const std::string* BackendSource::option(std::string_view key) const {
    for (const auto& [name, value] : options)
        if (name == key) return &value;
    return nullptr;
}

bool isPjrtPlugin(const std::string& path) {
    const auto library = readElfLibrary(path);
    return library.defines("GetPjrtApi") && !library.defines("quantscope_backend_query");
}

bool BackendSource::isNamedById(std::string_view key) const { return contains(idKeys, key); }

AskedBackend askedAs(const BackendSource& source) {
    AskedBackend out{source.id, source.shipped ? std::string() : source.path};
    bool first = source.idKeys.empty();
    for (const std::string& key : source.askedFor) {
        const auto* value = source.option(key);
        if (!value || source.isNamedById(key)) continue;
        out.id += (first ? ":" : ",") + key + '=' + *value;
        first = false;
    }
    const auto* path = source.option(kPath);
    if (path && source.takesPlugin && !source.isNamedById(kPath)) out.plugin = *path;
    return out;
}

std::optional<BackendSource> sourceWithOptions(std::string_view text, std::span<const BackendSource> sources) {
    const auto colon = text.find(':');
    const auto base =
        std::ranges::find_if(sources, [&](const auto& source) { return source.id == text.substr(0, colon); });
    if (colon == std::string_view::npos || base == sources.end()) return std::nullopt;
    BackendSource out = *base;
    out.id = std::string(text);
    out.baseline = false; // only the plain source is the baseline
    // A comma starts another option only if a key follows: values may contain commas.
    std::string_view rest = text.substr(colon + 1);
    while (true) {
        if (!isKey(rest)) return std::nullopt;
        const auto equals = rest.find('=');
        auto end = rest.find(',', equals);
        while (end != std::string_view::npos && !isKey(rest.substr(end + 1))) end = rest.find(',', end + 1);
        out.idKeys.emplace_back(rest.substr(0, equals));
        setOption(out, out.idKeys.back(),
                  std::string(rest.substr(equals + 1, end == std::string_view::npos ? end : end - equals - 1)));
        if (end == std::string_view::npos) return out;
        rest = rest.substr(end + 1);
    }
}

bool isShippedId(std::string_view id) {
    return std::ranges::any_of(kShipped, [&](const Shipped& shipped) { return shipped.id == id; });
}

std::vector<std::string> askNames(std::vector<BackendSource>& sources, const Job& job) {
    std::vector<std::string> silent;
    for (auto& source : sources) {
        if (source.shipped) continue; // includes PJRT plugins: the backend pjrt runs them
        const auto answer = probeBackend(source, Deadlines{}, job);
        if (!answer) silent.push_back(source.id + ": " + answer.error().reason);
        const bool taken =
            answer && std::ranges::any_of(sources, [&](const auto& other) { return other.id == answer->id; });
        if (answer && !answer->id.empty() && !taken) source.id = answer->id;
    }
    return silent;
}

tl::unexpected<Error> noSuchBackend(const std::string& id, std::span<const BackendSource> sources,
                                    std::span<const std::string> silent) {
    std::string known;
    for (const BackendSource& source : sources) known += (known.empty() ? "" : ", ") + source.id;
    return fail(fmt::format("There is no backend '{}'; the backends are {}, each also with options, as in "
                            "openblas:coretype=default{}.",
                            escapeForPeople(id, 60), escapeForPeople(known, silent.empty() ? 200 : 100),
                            silent.empty() ? "" : "; " + escapeForPeople(silent.front(), 200)));
}

Result<BackendSource> sourceNamed(const std::string& id, std::vector<BackendSource> sources, const Job& job) {
    const auto found = [&]() -> std::optional<BackendSource> {
        for (const BackendSource& source : sources)
            if (id.empty() ? source.named : source.id == id) return source;
        return sourceWithOptions(id, sources);
    };
    if (auto known = found()) return *known;
    const auto silent = askNames(sources, job);
    if (auto known = found()) return *known;
    return noSuchBackend(id, sources, silent);
}

std::vector<BackendSource> backendSources(std::span<const std::string> plugins, const Options& options) {
    std::vector<BackendSource> sources;
    std::error_code error;
    for (const auto& shipped : kShipped) {
        BackendSource source;
        source.id = source.base = shipped.id;
        source.takesPlugin = shipped.takesPlugin;
        source.options = options;
        source.baseline = shipped.baseline;
        if (!shipped.linkedIn) {
            source.path = (moduleFolder() / (source.id + ".so")).string();
            source.built = fs::path(source.path).is_absolute() && fs::is_regular_file(source.path, error);
        }
        for (const auto& [option, variable] : shipped.environment) {
            if (!variable) break;
            if (option != std::string_view(kPath)) source.askedFor.emplace_back(option);
            const char* value = std::getenv(variable);
            const bool given =
                std::ranges::any_of(source.options, [&, name = option](const auto& o) { return o.first == name; });
            if (value && *value && !given) source.options.emplace_back(option, value);
        }
        sources.push_back(std::move(source));
    }
    bool given = false; // the path of pjrt
    for (const auto& plugin : plugins) {
        if (isPjrtPlugin(plugin)) {
            const auto pjrt = std::ranges::find_if(sources, [](const auto& s) { return s.takesPlugin; });
            BackendSource more = *pjrt;
            auto& source = given ? more : *pjrt;
            const auto path = fs::absolute(plugin, error);
            setOption(source, kPath, error ? plugin : path.lexically_normal().string());
            source.named = true;
            if (given) {
                more.idKeys = {kPath};
                more.id = more.base + ":path=" + *more.option(kPath);
                sources.push_back(more);
            }
            given = true;
            continue;
        }
        BackendSource source;
        source.named = true;
        // the loader would search a bare name among the libraries of the system
        const auto path = fs::absolute(plugin, error);
        source.path = error ? plugin : path.lexically_normal().string();
        source.id = source.base = fs::path(plugin).filename().string();
        if (std::ranges::any_of(sources, [&](const auto& other) { return other.id == source.id; }))
            source.id = source.base = source.path; // a file may be called as a backend, or as another file
        source.options = options;
        source.shipped = false;
        sources.push_back(std::move(source));
    }
    return sources;
}

} // namespace qs
