// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/companion.h"

#include "core/base/text.h"
#include "core/model/output/confined_folder.h"

#include <cerrno>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <span>
#include <sys/stat.h>

namespace qs {

Result<std::string> textOf(const MappedFile& file, std::size_t most) {
    if (file.size() > most)
        return fail(fmt::format("{} is longer than {} bytes.", shownPath(file.path()), most), file.path());
    std::string text(file.size(), '\0');
    file.readInto(0, std::as_writable_bytes(std::span(text)));
    if (file.faulted())
        if (auto same = file.unchanged(); !same) return tl::unexpected(same.error());
    return text;
}

Result<std::string> readCompanion(const std::string& path, std::size_t most) {
    const auto file = MappedFile::open(path, FileAccess::Pread);
    if (!file) return tl::unexpected(file.error());
    return textOf(**file, most);
}

Result<std::string> readFileOfModel(const std::string& path, std::size_t most) {
    const auto file = openInItsFolder(path, FileAccess::Pread);
    if (!file) return tl::unexpected(file.error());
    return textOf(**file, most);
}

Result<nlohmann::json> readCompanionTree(const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0 && errno == ENOENT) return nlohmann::json();
    const auto text = readFileOfModel(path);
    if (!text) return tl::unexpected(text.error());
    auto tree = readJsonTree(*text);
    if (!tree) return fail(fmt::format("{} {}.", shownPath(path), tree.error().message), path);
    return tree;
}

} // namespace qs
