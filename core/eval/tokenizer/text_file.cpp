// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/tokenizer/text_file.h"

#include "core/base/text.h"
#include "core/model/mapped_file.h"
#include "core/report/report.h"

#include <fmt/format.h>

namespace qs::eval {

Result<std::string> readText(const std::string& path, const Job& job,
                             const std::function<Result<void>(std::string_view text)>& use) {
    const auto file = MappedFile::open(path);
    if (!file) return tl::unexpected(file.error());
    if ((*file)->size() > kMostTextBytes)
        return fail(fmt::format("{} is longer than the {} that a text may have: use a part of it.", shownPath(path),
                                bytesText(kMostTextBytes)),
                    path);
    std::vector<std::byte> scratch;
    const auto bytes = (*file)->read(0, (*file)->size(), scratch);
    std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (text.ends_with('\n')) text.remove_suffix(1);
    if (const auto done = use(text); !done) {
        if (done.error().cancelled) return tl::unexpected(done.error());
        return fail(fmt::format("{}: {}", shownPath(path), done.error().message), path);
    }
    return sha256OfFile(path, job);
}

} // namespace qs::eval
