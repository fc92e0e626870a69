// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/value/kept_variants.h"

#include "core/base/cache_folder.h"
#include "core/base/json_tree.h"
#include "core/model/output/atomic_file.h"
#include "core/report/machine.h"
#include "core/report/report.h"
#include "kernels/kernel_set.h"

#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

namespace qs::value {
namespace {

constexpr std::size_t kMostKept = std::size_t(1) << 18; ///< bytes; a larger file is ignored

/// Reads only a small regular file of this user.
std::string textOf(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return {};
    struct stat what {};
    std::string text;
    if (::fstat(fd, &what) == 0 && S_ISREG(what.st_mode) && what.st_size > 0 && std::size_t(what.st_size) <= kMostKept)
        text.resize(std::size_t(what.st_size));
    if (!text.empty() && ::read(fd, text.data(), text.size()) != ssize_t(text.size())) text.clear();
    ::close(fd);
    return text;
}

VariantKeeper::Choices choicesIn(const std::string& path, const std::string& machine) {
    const auto json = readJsonTree(textOf(path));
    if (!json || !json->is_object() || textAt(*json, "machine") != machine) return {};
    VariantKeeper::Choices choices;
    if (const auto kept = json->find("fastest"); kept != json->end() && kept->is_object())
        for (const auto& [like, id] : kept->items())
            if (id.is_string()) choices[like] = id.get<std::string>();
    return choices;
}

/// FNV-1a hash.
std::uint64_t hashOf(std::string_view text) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return hash;
}

} // namespace

VariantKeeper keptIn(const std::string& path, const std::string& machine) {
    if (path.empty()) return {};
    const auto store = [=](const VariantKeeper::Choices& choices) {
        auto all = choicesIn(path, machine); // another process may have added choices
        for (const auto& [like, id] : choices) all[like] = id;
        nlohmann::ordered_json json;
        json["machine"] = machine;
        json["fastest"] = all;
        std::error_code error;
        std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
        const std::string text = json.dump(1) + "\n";
        if (!error && text.size() <= kMostKept) (void)writeWholeFile(path, text);
    };
    return {[=] { return choicesIn(path, machine); }, store};
}

std::string measuredMachine() {
    std::string variants;
    for (const MatmulVariant* each : matmulVariants())
        if (each->supported()) variants += fmt::format(" {}", each->id);
    return fmt::format("{}; QuantScope {}; {};{}", cpuName(), toolVersion(), bestKernels().id, variants);
}

std::string keptVariantsPath() {
    const std::string folder = cacheFolder();
    if (folder.empty()) return {};
    return fmt::format("{}/kernels-{:016x}.json", folder, hashOf(measuredMachine()));
}

VariantChoices& variantChoices() {
    static VariantChoices choices(keptIn(keptVariantsPath(), measuredMachine()));
    return choices;
}

} // namespace qs::value
