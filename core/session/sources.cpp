// SPDX-License-Identifier: GPL-3.0-or-later
// Checks whether the files of a session are still the same files.
#include "core/base/text.h"
#include "core/model/mapped_file.h"
#include "core/model/model.h"
#include "core/report/report.h"
#include "core/session/session_file.h"

#include <fmt/format.h>
#include <sys/stat.h>

namespace qs {

Result<std::vector<SessionSource>> sourcesOf(const Model& model, std::uint64_t hashedBytes, const Job& job) {
    std::uint64_t total = 0;
    for (const auto& file : model.files) total += file.size;
    std::vector<SessionSource> sources;
    for (const auto& file : model.files) {
        SessionSource source{file.path, {}, file.size, file.mapping ? file.mapping->mtimeNs() : 0};
        if (total <= hashedBytes) {
            auto hash = sha256OfFile(file.path, job);
            if (!hash) return tl::unexpected(hash.error());
            source.sha256 = std::move(*hash);
        }
        sources.push_back(std::move(source));
    }
    return sources;
}

Result<std::vector<std::string>> changedSources(const SessionFile& session, const Job& job) {
    std::vector<std::string> sentences;
    for (const auto& source : session.sources) {
        const auto shown = shownPath(source.path);
        struct stat now {};
        if (stat(source.path.c_str(), &now) != 0) {
            sentences.push_back(fmt::format(
                "{}, which this session was made from, is not there; put it back, or open it where it is now.", shown));
            continue;
        }
        const std::int64_t mtime = std::int64_t(now.st_mtim.tv_sec) * 1'000'000'000 + now.st_mtim.tv_nsec;
        if (std::uint64_t(now.st_size) != source.size) {
            sentences.push_back(fmt::format("{} has changed since this session was saved: it had {}, and has {} now. "
                                            "What was measured is of the old one.",
                                            shown, bytesText(source.size), bytesText(std::uint64_t(now.st_size))));
        } else if (mtime != source.mtimeNs) {
            const auto hash =
                source.sha256.empty() ? Result<std::string>(std::string()) : sha256OfFile(source.path, job);
            if (!hash) return tl::unexpected(hash.error());
            if (source.sha256.empty())
                sentences.push_back(fmt::format("{} may have changed since this session was saved: its date is another "
                                                "one, and its SHA-256 was not kept.",
                                                shown));
            else if (*hash != source.sha256)
                sentences.push_back(
                    fmt::format("{} has changed since this session was saved (another SHA-256). What was "
                                "measured is of the old one.",
                                shown));
        }
    }
    return sentences;
}

} // namespace qs
