// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/layouts/certificate_path.h"

#include "core/base/text.h"
#include "core/layouts/layout.h"
#include "core/model/companion.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace qs {
namespace {

namespace fs = std::filesystem;
constexpr const char* kCertificateName = "certificate.json";
constexpr std::size_t kMostEarlier = std::size_t(16) << 20; ///< bytes

/// Whether it is a certificate of one file of that name.
bool speaksOfFile(const std::string& certificate, const std::string& name) {
    std::error_code failed;
    if (!fs::exists(certificate, failed)) return false;
    const auto text = readCompanion(certificate, kMostEarlier);
    const auto tree = text ? readJsonTree(*text, kMostEarlier) : tl::unexpected(text.error());
    if (!tree || !tree->is_object()) return false;
    const auto files = tree->find("files");
    return files != tree->end() && files->is_array() && files->size() == 1 && textAt(files->front(), "name") == name;
}

} // namespace

std::string certificatePathFor(const std::string& output) {
    if (fileEnding(output).empty()) return (fs::path(output) / kCertificateName).string();
    return output + "." + kCertificateName;
}

std::string certificateOf(const std::string& output) {
    const std::string path = certificatePathFor(output);
    std::error_code failed;
    if (fs::exists(path, failed)) return path;
    const auto ending = fileEnding(output);
    if (ending.empty()) return {};
    const std::string earlier = output.substr(0, output.size() - ending.size()) + "." + kCertificateName;
    return speaksOfFile(earlier, fs::path(output).filename().string()) ? earlier : std::string();
}

Result<void> removeCertificate(const std::string& output) {
    const std::string path = certificateOf(output);
    if (path.empty() || ::unlink(path.c_str()) == 0 || errno == ENOENT) return {};
    return fail(fmt::format("{} cannot be replaced: its certificate {} cannot be removed: {}.",
                            escapeForPeople(output, 200), shownPath(path), std::strerror(errno)),
                path);
}

} // namespace qs
