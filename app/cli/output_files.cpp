// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/output_files.h"

#include "app/cli/terminal.h"
#include "core/base/text.h"
#include "core/model/output/atomic_file.h"

#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <optional>
#include <unistd.h>

namespace qs::cli {
namespace {

namespace fs = std::filesystem;

/// Devices and pipes are written directly. A rename over /dev/null would destroy it.
bool isSpecial(const std::string& path) {
    std::error_code error;
    const auto status = fs::status(path, error);
    return fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
}

Result<void> writeThrough(const std::string& path, const std::string& bytes) {
    std::ofstream out(path, std::ios::binary);
    out.write(bytes.data(), std::streamsize(bytes.size()));
    out.flush();
    if (!out)
        return fail(fmt::format("{} could not be written: {}.", escapeForPeople(path), std::strerror(errno)), path);
    return {};
}

} // namespace

void OutputFiles::declare(CLI::App& app, std::initializer_list<const char*> ids) {
    for (const char* id : ids)
        if (const auto* writer = findReportWriter(id)) files_.push_back({writer, {}, {}});
    for (auto& file : files_) // files_ does not grow any more, so the addresses of its elements are stable
        file.option = option(app, std::string("--") + file.writer->id, file.path,
                             std::string(file.writer->title) + ": " + file.writer->holds)
                          .type("FILE")
                          .writes({file.writer->extension})
                          .role(OptionRole::Report);
    if (ids.size() > 1) // only reports contain provenance with paths
        flag(app, "--paths", paths_, "In these files name folders too, not the last name of a path alone")
            .role(OptionRole::Report);
}

std::vector<std::string> pathsOf(const Model* model) {
    if (!model) return {};
    std::vector<std::string> paths = {model->path};
    for (const auto& file : model->files) paths.push_back(file.path);
    return paths;
}

bool OutputFiles::any() const {
    return std::ranges::any_of(files_, [](const File& f) { return !f.path.empty(); });
}
bool OutputFiles::wants(std::string_view id) const {
    return std::ranges::any_of(files_, [&](const File& f) { return id == f.writer->id && !f.path.empty(); });
}
std::vector<std::string> OutputFiles::words() const {
    std::vector<std::string> out;
    for (const File& file : files_)
        if (!file.path.empty()) out.push_back(fmt::format("--{}={}", file.writer->id, file.path));
    if (paths_) out.push_back("--paths");
    return out;
}
bool OutputFiles::standardOutput() const {
    return std::ranges::any_of(files_, [](const File& f) { return f.path == "-"; });
}

Result<void> OutputFiles::check() const {
    std::error_code error;
    for (std::size_t i = 0; i < files_.size(); ++i) {
        const auto& [writer, path, option] = files_[i];
        if (path.empty() && option.given())
            return fail(fmt::format("--{} names no file; \"-\" is the standard output.", writer->id));
        if (path.empty()) continue;
        for (std::size_t j = 0; j < i && path == "-"; ++j)
            if (files_[j].path == path)
                return fail(fmt::format("--{} and --{} both name the standard output; give each its own file.",
                                        files_[j].writer->id, writer->id),
                            path);
        if (path == "-") {
            if (std::string_view(writer->id) == "pdf" && isatty(STDOUT_FILENO) == 1)
                return fail("A PDF is not printed on a terminal; name a file after --pdf.");
            continue;
        }
        if (fs::is_directory(path, error))
            return fail(fmt::format("{} is a folder; name a file after --{}.", escapeForPeople(path), writer->id),
                        path);
        const auto folder = fs::absolute(path, error).parent_path();
        if (!fs::is_directory(folder, error))
            return fail(
                fmt::format("The folder {} for --{} does not exist.", escapeForPeople(folder.string()), writer->id),
                path);
    }
    return {};
}

Result<void> OutputFiles::put(const std::vector<std::pair<const File*, std::string>>& rendered) const {
    std::vector<AtomicFile> written;
    for (const auto& [file, bytes] : rendered) {
        if (file->path == "-" || isSpecial(file->path)) continue;
        auto created = AtomicFile::create(file->path, bytes.size());
        if (!created) return tl::unexpected(created.error());
        if (auto done = created->write(bytes); !done) return done;
        written.push_back(std::move(*created));
    }
    for (auto& file : written)
        if (auto done = file.commit(); !done) return done;
    for (const auto& [file, bytes] : rendered) {
        Result<void> done;
        if (file->path == "-")
            done = print(bytes);
        else if (isSpecial(file->path))
            done = writeThrough(file->path, bytes);
        else if (!standardOutput())
            done = print(fmt::format("Wrote {} ({}).\n", escapeForPeople(file->path, 300), bytesText(bytes.size())));
        if (!done) return done;
    }
    return {};
}

Report OutputFiles::shown(Report report, const std::vector<std::string>& paths) const {
    if (!paths_) withoutFolders(report, paths);
    return report;
}

Result<void> OutputFiles::write(Report report, const std::vector<std::string>& paths) const {
    report = shown(std::move(report), paths);
    std::vector<std::pair<const File*, std::string>> rendered;
    for (const auto& file : files_) {
        if (file.path.empty()) continue;
        auto bytes = file.writer->render(report);
        if (!bytes) return tl::unexpected(bytes.error());
        rendered.emplace_back(&file, std::move(*bytes));
    }
    return put(rendered);
}

Result<void> OutputFiles::writeJson(std::string_view text) const {
    for (const auto& file : files_)
        if (!file.path.empty()) return put({{&file, std::string(text)}});
    return {};
}

Result<void> OutputFiles::writeInPieces(std::string_view id,
                                        const std::function<Result<void>(const Sink&)>& produce) const {
    constexpr std::size_t piece = 65'536;
    for (const auto& file : files_) {
        if (file.path.empty() || id != file.writer->id) continue;
        std::optional<AtomicFile> whole;
        std::ofstream through;
        if (file.path != "-" && isSpecial(file.path))
            through.open(file.path, std::ios::binary);
        else if (file.path != "-") {
            auto created = AtomicFile::create(file.path);
            if (!created) return tl::unexpected(created.error());
            whole.emplace(std::move(*created));
        }
        std::uint64_t size = 0;
        std::string kept;
        const auto pass = [&]() -> Result<void> {
            size += kept.size();
            Result<void> done;
            if (whole)
                done = whole->write(std::string_view(kept));
            else if (file.path == "-")
                done = print(kept);
            else if (!through.write(kept.data(), std::streamsize(kept.size())).flush())
                done =
                    fail(fmt::format("{} could not be written: {}.", escapeForPeople(file.path), std::strerror(errno)),
                         file.path);
            kept.clear();
            return done;
        };
        auto done = produce([&](std::string_view text) -> Result<void> {
            kept += text;
            return kept.size() < piece ? Result<void>() : pass();
        });
        if (!done) return done;
        if (auto rest = pass(); !rest) return rest;
        if (!whole) return {};
        if (auto named = whole->commit(); !named) return named;
        if (standardOutput()) return {};
        return print(fmt::format("Wrote {} ({}).\n", escapeForPeople(file.path, 300), bytesText(size)));
    }
    return {};
}

} // namespace qs::cli
