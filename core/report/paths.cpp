// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/lists.h"
#include "core/report/report.h"

#include <algorithm>
#include <array>
#include <cstdlib>

namespace qs {
namespace {

constexpr std::array<std::string_view, 4> kColumnsWithPaths = {"command", "reason", "path", "detail"};

/// Whether a relative path at this position is a word of its own. Absolute paths may be anywhere in a sentence.
bool startsTypedWord(std::string_view text, std::size_t at) {
    return at == 0 || std::string_view(" '\"=:,(").find(text[at - 1]) != std::string_view::npos;
}

void shortenPath(std::string& text, const std::string& path, const std::string& name) {
    for (std::size_t at = text.find(path); at != std::string::npos; at = text.find(path, at + name.size()))
        if (path[0] == '/' || startsTypedWord(text, at))
            text.replace(at, path.size(), name);
        else
            at += path.size() - std::min(path.size(), name.size());
}

class ShortenedPaths {
public:
    explicit ShortenedPaths(const std::vector<std::string>& paths) {
        for (const auto& path : paths)
            if (path.find('/') != std::string::npos) names_.emplace_back(path, nameOfPath(path));
        const auto longer = [](const auto& a, const auto& b) { return a.first.size() > b.first.size(); };
        std::ranges::sort(names_, longer); // longest first, so files come before their folder
        if (const char* home = std::getenv("HOME"); home && std::string_view(home).size() > 1)
            names_.emplace_back(std::string(home) + '/', "~/");
    }
    void line(std::string& text) const {
        for (const auto& [path, name] : names_) shortenPath(text, path, name);
    }
    /// Replaces only absolute paths, for texts that also contain tensor names.
    void sentence(std::string& text) const {
        for (const auto& [path, name] : names_)
            if (path[0] == '/') shortenPath(text, path, name);
    }
    void table(Table& table) const {
        for (std::size_t c = 0; c < table.columns.size(); ++c) {
            const auto& id = table.columns[c].id;
            if (!contains(kColumnsWithPaths, id)) continue;
            for (auto& row : table.rows)
                if (auto* text = std::get_if<std::string>(&row[c])) sentence(*text);
        }
    }

private:
    std::vector<std::pair<std::string, std::string>> names_;
};

} // namespace

std::string nameOfPath(std::string_view path) {
    while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
    const auto slash = path.rfind('/');
    return std::string(slash == std::string_view::npos || path.size() == 1 ? path : path.substr(slash + 1));
}

namespace {

/// The last `parts` parts of a path; all of a shorter one.
std::string_view endOfPath(std::string_view path, std::size_t parts) {
    std::size_t at = path.size(); // of the slash before them
    for (; parts > 0; --parts) {
        if (at == 0) return path;
        at = path.rfind('/', at - 1);
        if (at == std::string_view::npos) return path;
    }
    return path.substr(at + 1);
}

} // namespace

std::vector<std::string> namesOfPaths(std::span<const std::string> paths) {
    std::vector<std::string_view> whole(paths.begin(), paths.end());
    for (std::string_view& path : whole)
        while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
    std::vector<std::string> names;
    for (const std::string_view path : whole) {
        std::string_view name = endOfPath(path, 1);
        const auto isOfAnother = [&](std::size_t parts) {
            return std::ranges::any_of(
                whole, [&](std::string_view other) { return other != path && endOfPath(other, parts) == name; });
        };
        for (std::size_t parts = 1; name != path && isOfAnother(parts); ++parts) name = endOfPath(path, parts + 1);
        names.emplace_back(name);
    }
    return names;
}

void withoutFolders(Report& report, const std::vector<std::string>& paths) {
    const ShortenedPaths shortened(paths);
    for (auto& [key, value] : report.provenance) shortened.line(value);
    for (auto* text : {&report.title, &report.subtitle}) shortened.sentence(*text);
    for (auto& section : report.sections) {
        for (auto* text : {&section.text, &section.note}) shortened.sentence(*text);
        shortened.table(section.cards);
        for (auto& table : section.tables) shortened.table(table);
    }
    shortened.table(report.data);
    shortened.table(report.summary);
    for (auto& [key, table] : report.more) shortened.table(table);
}

} // namespace qs
