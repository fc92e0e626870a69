// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/ocdbt/data_files.h"

#include <algorithm>

namespace qs::ocdbt {
namespace {

constexpr std::uint64_t kMostFiles = 65'536, kMostPath = 4096;
/// Bytes of all paths together, because shared prefixes are stored only once.
constexpr std::size_t kMostText = std::size_t(8) << 20;

} // namespace

std::vector<DataFile> readDataFiles(Cursor& cursor, std::string_view base) {
    const auto count =
        cursor.varint(std::min<std::uint64_t>(kMostFiles, cursor.left()), "it names too many data files");
    if (count == 0) return {};
    Cursor prefixes = cursor.column(count - 1), suffixes = cursor.column(count), bases = cursor.column(count);
    std::vector<DataFile> files(cursor.failed() ? 0 : std::size_t(count));
    std::size_t text = 0, lastBase = 0;
    for (std::size_t i = 0; i < files.size(); ++i) {
        const std::string_view before = i == 0 ? base : std::string_view(files[i - 1].path);
        const auto prefix = i == 0 ? 0 : prefixes.varint(), suffix = suffixes.varint(), own = bases.varint();
        if (prefix > before.size() - base.size())
            cursor.refuse("a path in it begins with more than the one before has");
        if (suffix > kMostPath || base.size() + prefix + suffix > kMostPath)
            cursor.refuse("a path of a data file in it is too long");
        if (own > prefix + suffix) cursor.refuse("the base of a path in it is longer than the path");
        // Rule of the format: the common prefix of two paths ends with the base of either, unless both have the same
        // base.
        if (prefix > std::min<std::uint64_t>(lastBase, own) && own != lastBase)
            cursor.refuse("paths in it share more than their bases");
        const auto end = cursor.text(suffix);
        text += base.size() + std::size_t(prefix + suffix);
        if (text > kMostText) cursor.refuse("its paths of data files are too long");
        if (cursor.failed()) return {};
        files[i].path = std::string(before.substr(0, base.size() + std::size_t(prefix))).append(end);
        lastBase = std::size_t(own);
        files[i].base = base.size() + lastBase;
    }
    return files;
}

} // namespace qs::ocdbt
