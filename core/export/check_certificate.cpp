// SPDX-License-Identifier: GPL-3.0-or-later
// Checks whether the files beside a certificate are those that it describes.
#include "core/base/text.h"
#include "core/export/certificate.h"
#include "core/model/output/confined_folder.h"
#include "core/report/report.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <utility>

namespace qs {
namespace {

namespace fs = std::filesystem;

CheckedFile fileAsItIs(const CertifiedFile& file, const fs::path& folder, Result<void>& stopped, const Job& job) {
    const auto found = ConfinedFolder(folder.string()).tryOpen(file.name, FileAccess::Pread);
    if (!found) return {file, found.error()};
    if (!*found) return {file, "it is not there"};
    if ((*found)->size() != file.bytes)
        return {file, fmt::format("it has {} bytes, not {}", (*found)->size(), file.bytes)};
    const auto hash = sha256OfFile((folder / file.name).string(), job);
    if (!hash && hash.error().cancelled) stopped = tl::unexpected(hash.error());
    if (!hash) return {file, hash.error().sentence()};
    return {file, *hash == file.sha256 ? std::string() : "its SHA-256 is " + *hash};
}

Result<CheckedCertificate> checkedIn(Certificate certificate, const fs::path& folder, const Job& job) {
    CheckedCertificate out{std::move(certificate), {}};
    Result<void> stopped;
    for (const auto& file : out.certificate.files) {
        out.files.push_back(fileAsItIs(file, folder, stopped, job));
        if (!stopped) return tl::unexpected(stopped.error());
    }
    return out;
}

} // namespace

bool CheckedCertificate::holds() const {
    return !files.empty() && std::ranges::all_of(files, [](const CheckedFile& file) { return file.differs.empty(); });
}

Result<CheckedCertificate> checkCertificate(const std::string& path, const Job& job, ProofRows rows) {
    auto certificate = readCertificate(path, rows);
    if (!certificate) return tl::unexpected(certificate.error());
    const fs::path folder = fs::absolute(path).parent_path();
    auto previous = std::exchange(certificate->previous, {});
    auto now = checkedIn(std::move(*certificate), folder, job);
    while (now && !now->holds() && previous) {
        auto earlier = std::exchange(previous->previous, {});
        auto before = checkedIn(std::move(*previous), folder, job);
        if (!before || before->holds()) return before;
        previous = std::move(earlier);
    }
    return now;
}

std::string checkText(const CheckedCertificate& checked) {
    const auto& files = checked.files;
    if (files.empty()) return "The certificate names no file.";
    if (checked.holds())
        return files.size() == 1 ? fmt::format("{} is as certified.", escapeForPeople(files[0].certified.name, 100))
                                 : fmt::format("All {} files are as certified.", files.size());
    const auto differs = [](const CheckedFile& file) { return !file.differs.empty(); };
    const auto first = std::ranges::find_if(files, differs);
    const auto count = std::ranges::count_if(files, differs);
    return fmt::format("The certificate does not speak of {}: {}{}.", escapeForPeople(first->certified.name, 100),
                       escapeForPeople(first->differs, 200),
                       count > 1 ? fmt::format(" (nor of {} other files)", count - 1) : "");
}

} // namespace qs
