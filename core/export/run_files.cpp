// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/export/run_files.h"

#include "core/base/text.h"
#include "core/export/certificate.h"
#include "core/layouts/certificate_path.h"
#include "core/model/conventions/checkpoint.h"
#include "core/model/gguf/gguf_write.h"
#include "core/model/mapped_file.h"
#include "core/model/npy/npz_write.h"
#include "core/model/output/content_note.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <initializer_list>
#include <optional>
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

/// The first and the last bytes of a file.
struct Ends {
    std::uint64_t size = 0;
    std::string head, tail;
    bool have(std::initializer_list<const char*> marks) const {
        return std::ranges::any_of(
            marks, [&](const char* mark) { return head.find(mark) != head.npos || tail.find(mark) != tail.npos; });
    }
};

std::optional<Ends> endsOf(const std::string& path) {
    constexpr std::size_t kLooked = 65536;
    const auto file = MappedFile::open(path, FileAccess::Pread);
    if (!file) return {};
    const std::size_t size = (*file)->size(), n = std::min(size, kLooked);
    Ends out{size, std::string(n, '\0'), std::string(n, '\0')};
    (*file)->readInto(0, std::as_writable_bytes(std::span(out.head)));
    (*file)->readInto(size - n, std::as_writable_bytes(std::span(out.tail)));
    return out;
}

/// A report says who wrote it.
bool looksLikeReport(const std::string& path, const Ends& ends) {
    if (path.ends_with(".csv")) return isHeaderOfCsv(ends.head);
    return ends.have(
        {"content=\"QuantScope ", "\"version\": \"QuantScope ", "Tool: QuantScope ", "/Creator (QuantScope "});
}

/// The same of all that this program writes and that can say so: rows without provenance, recipes, certificates, weights
/// in layouts of ours, inputs of layers.
bool looksLikeOurs(const std::string& path, const Ends& ends) {
    if (looksLikeReport(path, ends)) return true;
    if (ends.head.starts_with("GGUF")) return ends.head.find(kGgufMark) != std::string::npos;
    if (ends.head.starts_with("PK\3\4")) return ends.tail.find(kNpzMark) != std::string::npos;
    for (const char* start : {"{\"rows\": [", "{\"format\": ", "{\n  \"version\": 1,\n  \"default\": "})
        if (ends.head.starts_with(start)) return true;
    return ends.have({"\"quantscope", "quantscope_hdf5"});
}

/// Reports may be written again where they lie, also in the folder of a model, unless somebody has changed them since.
bool isOwnReport(const std::string& path) {
    const auto ends = endsOf(path);
    return ends && looksLikeReport(path, *ends) && isAsNoted(path);
}

/// Of an empty file nothing is lost. A mark alone proves nothing: other programs keep it when they change the rest. A
/// note alone does neither: a folder of a model that was written holds notes on files of others.
bool isOwnFile(const std::string& path) {
    const auto ends = endsOf(path);
    return ends && (ends->size == 0 || (looksLikeOurs(path, *ends) && isAsNoted(path)));
}

/// An export that its certificate still describes. Another file under the same name is somebody else's.
bool isCertified(const std::string& path) {
    const auto checked = checkCertificate(certificatePathFor(path), Job(), ProofRows::Counted);
    return checked && checked->holds();
}

bool endsWithAny(const std::string& path, const std::vector<std::string>& endings) {
    std::string lower = path;
    std::ranges::transform(lower, lower.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
    return std::ranges::any_of(endings, [&](const std::string& ending) { return lower.ends_with(ending); });
}

} // namespace

Result<void> checkEnding(const std::string& path, const std::string& as, const std::vector<std::string>& endings) {
    if (endings.empty() || endsWithAny(path, endings)) return {};
    return fail(fmt::format("The name of {} ({}) must end in {}.", shownOutput(path), as, fmt::join(endings, " or ")),
                path);
}

RunFiles::Place RunFiles::placeOf(const std::string& path, const std::string& as) {
    Place place;
    place.path = path, place.as = as;
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

void RunFiles::writes(const std::string& path, const std::string& as, std::vector<std::string> endings,
                      std::vector<std::string> unmarked) {
    if (path.empty() || path == "-") return;
    outputs_.push_back(placeOf(path, as));
    outputs_.back().endings = std::move(endings), outputs_.back().unmarked = std::move(unmarked);
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

Result<void> RunFiles::mayBeWritten(bool force, const char* forced) const {
    for (const Place& output : outputs_) {
        if (output.isSpecial || output.isFolder) continue;
        if (auto fine = checkEnding(output.path, output.as, output.endings); !fine) return fine;
        if (!force && !endsWithAny(output.path, output.unmarked) && stays(output))
            return fail(
                fmt::format("{} ({}) is there, and nothing shows that it is still as this program wrote it: name "
                            "another file, or give {} to replace it.",
                            shownOutput(output.path), output.as, forced),
                output.path);
    }
    return {};
}

bool RunFiles::stays(const Place& output) {
    return output.id && !output.isSpecial && !isOwnFile(output.path) && !isCertified(output.path);
}

Replace RunFiles::replace(const std::string& path, bool force) const {
    const auto stay = [&](const Place& output) { return output.path == path && stays(output); };
    return !force && std::ranges::any_of(outputs_, stay) ? Replace::Equal : Replace::Any;
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
