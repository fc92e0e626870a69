// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/export/run_files.h"

#include "core/base/text.h"
#include "core/layouts/certificate_path.h"
#include "core/model/conventions/checkpoint.h"
#include "core/model/mapped_file.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <string_view>
#include <sys/stat.h>

namespace qs {
namespace {

namespace fs = std::filesystem;

std::string shownOutput(const std::string& path) { return shownPath(path); }

bool pathLiesIn(const std::string& path, const std::string& folder) {
    return path.size() > folder.size() + 1 && path.starts_with(folder) && path[folder.size()] == '/';
}

/// Ids with commas between them, and the line's end of CSV.
bool isHeaderOfCsv(std::string_view text) {
    const auto line = text.substr(0, text.find('\n'));
    return line.ends_with('\r') && line.find(',') != line.npos &&
           line.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_,\r") == line.npos;
}

/// Reports may be written again where they lie, also in the folder of a model: each says who wrote it.
bool isOwnReport(const std::string& path) {
    constexpr std::size_t kLooked = 65536;
    const auto file = MappedFile::open(path, FileAccess::Pread);
    if (!file) return false;
    const std::size_t size = (*file)->size(), n = std::min(size, kLooked);
    std::string head(n, '\0'), tail(n, '\0');
    (*file)->readInto(0, std::as_writable_bytes(std::span(head)));
    (*file)->readInto(size - n, std::as_writable_bytes(std::span(tail)));
    if (path.ends_with(".csv")) return isHeaderOfCsv(head);
    for (const char* mark :
         {"content=\"QuantScope ", "\"version\": \"QuantScope ", "Tool: QuantScope ", "/Creator (QuantScope "})
        if (head.find(mark) != head.npos || tail.find(mark) != tail.npos) return true;
    return false;
}

} // namespace

RunFiles::Place RunFiles::placeOf(const std::string& path, const std::string& as) {
    Place place{path, as, {}, {}, false, false};
    struct stat status {};
    if (::stat(path.c_str(), &status) == 0) {
        place.id.emplace(status.st_dev, status.st_ino);
        place.isFolder = S_ISDIR(status.st_mode);
        place.isSpecial = !place.isFolder && !S_ISREG(status.st_mode);
    }
    std::error_code failed;
    const auto whole = fs::weakly_canonical(fs::absolute(path, failed), failed);
    place.canonical = failed ? path : whole.string();
    while (place.canonical.size() > 1 && place.canonical.ends_with('/')) place.canonical.pop_back();
    return place;
}

bool RunFiles::same(const Place& a, const Place& b) {
    return a.canonical == b.canonical || (a.id && b.id && a.id == b.id);
}

void RunFiles::reads(const std::string& path, const std::string& as) {
    if (!path.empty()) inputs_.push_back(placeOf(path, as));
}

void RunFiles::reads(const Model& model) {
    const std::string as = "a file of the opened " + shownOutput(model.title);
    for (const auto& file : model.files) {
        reads(file.path, as);
        // Compares the open file itself; another file may have its name now.
        if (file.mapping) inputs_.back().id.emplace(file.mapping->device(), file.mapping->inode());
    }
    for (const auto& path : configPaths(model)) reads(path, as);
    reads(model.folder, "the opened folder");
}

void RunFiles::writes(const std::string& path, const std::string& as) {
    if (!path.empty() && path != "-") outputs_.push_back(placeOf(path, as));
}

void RunFiles::exports(const std::string& path, const std::string& as, bool certified) {
    if (path.empty()) return; // the export reports an empty path itself
    writes(path, as);
    const auto certificate = certificatePathFor(path);
    if (pathLiesIn(certificate, path)) return;
    (certified ? outputs_ : removed_).push_back(placeOf(certificate, "the certificate of " + as));
}

Result<void> RunFiles::apart(const Place& output, const Place& input) {
    if (same(output, input))
        return fail(fmt::format("The output {} ({}) is an opened input ({}); name another {}.",
                                shownOutput(output.path), output.as, input.as, output.isFolder ? "folder" : "file"),
                    output.path);
    if (output.isFolder && pathLiesIn(input.canonical, output.canonical))
        return fail(fmt::format("The output folder {} ({}) holds {}, an opened input ({}); name another folder.",
                                shownOutput(output.path), output.as, shownOutput(input.path), input.as),
                    output.path);
    const bool isThere = output.id && !output.isFolder;
    if (isThere && input.isFolder && pathLiesIn(output.canonical, input.canonical) && !isOwnReport(output.path))
        return fail(fmt::format("The output {} ({}) is a file of the opened input {}; name a new file.",
                                shownOutput(output.path), output.as, shownOutput(input.path)),
                    output.path);
    return {};
}

Result<void> RunFiles::apart() const {
    for (const Place& gone : removed_)
        for (const Place& input : inputs_)
            if (same(gone, input))
                if (auto fine = apart(gone, input); !fine) return fine;
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
        const Place& output = outputs_[i];
        if (output.isSpecial) continue; // writing to /dev/null or a pipe destroys no data
        for (std::size_t j = 0; j < i; ++j)
            if (same(outputs_[j], output))
                return fail(fmt::format("{} and {} both name {}; give each its own file.", outputs_[j].as, output.as,
                                        shownOutput(output.path)),
                            output.path);
        for (const Place& input : inputs_)
            if (auto fine = apart(output, input); !fine) return fine;
    }
    return {};
}

} // namespace qs
