// SPDX-License-Identifier: GPL-3.0-or-later
// Opens GGUF files: single files, and models split into several files in one folder.
#include "core/model/gguf/gguf.h"

#include "core/base/tensor_name.h"
#include "core/base/text.h"
#include "core/model/file_set.h"
#include "core/model/foreign_file.h"
#include "core/model/list_budget.h"
#include "core/model/mapped_file.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <iterator>

namespace qs {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostRead = std::size_t(1) << 30; ///< bytes; longest header of a file that is not mapped

/// The parts of a file name such as "NAME-00001-of-00003.gguf".
struct PartName {
    std::string stem; ///< folder and NAME; "" if the name has another form
    unsigned number = 0, count = 0;

    std::string path(unsigned part) const { return fmt::format("{}-{:05}-of-{:05}.gguf", stem, part, count); }
};

PartName partName(const std::string& path) {
    constexpr std::size_t tail = std::string_view("-00001-of-00003.gguf").size();
    if (path.size() <= tail) return {};
    const std::string_view end = std::string_view(path).substr(path.size() - tail);
    const auto five = [&](std::size_t at) {
        unsigned number = 0;
        for (const char c : end.substr(at, 5)) {
            if (c < '0' || c > '9') return 0u;
            number = number * 10 + unsigned(c - '0');
        }
        return number;
    };
    if (end[0] != '-' || end.substr(6, 4) != "-of-" || end.substr(15) != ".gguf") return {};
    PartName name{path.substr(0, path.size() - tail), five(1), five(10)};
    return name.number >= 1 && name.number <= name.count ? name : PartName{};
}

/// Maps a file, reads its header and adds its tensors to the model.
Result<GgufHeader> add(Model& model, const std::string& path) {
    auto mapping = openWhole(path);
    if (!mapping) return tl::unexpected(mapping.error());
    const MappedFile& file = **mapping;
    std::vector<std::byte> scratch;
    const auto start = file.read(0, std::min<std::size_t>(file.size(), 4096), scratch);
    const bool isGguf = start.size() >= 4 && std::memcmp(start.data(), "GGUF", 4) == 0;
    if (const auto is = foreignFile(start); !isGguf && !is.empty())
        return fail(fmt::format("{} {}.", shownPath(path), is), path, 0);
    // The header does not say how long it is. A file that is not mapped is read in growing pieces until the header is
    // complete.
    std::size_t length = file.isMapped() ? file.size() : std::min<std::size_t>(file.size(), std::size_t(1) << 20);
    const ListBudget budget(model, file.size());
    auto header = parseGgufHeader(file.read(0, length, scratch), file.size(), path, &budget);
    while (header && header->wantsMore) {
        if (length >= kMostRead)
            return fail(fmt::format("{}: its header is longer than 1 GiB.", shownPath(path)), path, 0);
        length = std::min(file.size(), 4 * length);
        header = parseGgufHeader(file.read(0, length, scratch), file.size(), path, &budget);
    }
    // If the file was truncated while the header was read, its end now reads as zeros. Report the truncation, not the
    // parse error that follows from it.
    if (file.faulted())
        if (auto same = file.unchanged(); !same) return tl::unexpected(same.error());
    if (!header) return header;

    const auto number = std::uint32_t(model.files.size());
    for (auto& tensor : header->tensors) tensor.file = number;
    model.files.push_back({file.path(), file.size(), *mapping, std::move(header->metadata)});
    addTensors(model, std::move(header->tensors));
    for (auto& warning : header->warnings) model.warnings.push_back(fmt::format("{}: {}", shownPath(path), warning));
    return header;
}

/// Opens all parts of a split model and adds warnings for missing or inconsistent parts.
Result<std::shared_ptr<Model>> openParts(const PartName& name, const GgufSplit& asked) {
    auto model = newModel(name.path(name.number), "gguf");
    model->title = fs::path(name.stem).filename().string();
    std::vector<std::string> missing;
    for (unsigned part = 1; part <= name.count; ++part) {
        const std::string path = name.path(part);
        std::error_code ignored;
        if (!fs::exists(path, ignored)) {
            missing.push_back(fs::path(path).filename().string());
            continue;
        }
        const auto header = add(*model, path);
        if (!header) return tl::unexpected(header.error());
        if (!header->split || header->split->number + 1 != part || header->split->count != name.count)
            model->warnings.push_back(
                header->split ? fmt::format("{} says that it is part {} of {}.", shownPath(path),
                                            header->split->number + 1, header->split->count)
                              : fmt::format("{} does not say that it is part of a split model.", shownPath(path)));
    }
    if (!missing.empty())
        model->warnings.push_back(fmt::format("{}: {} of {} parts are missing; the first is {}.",
                                              shownPath(model->path), missing.size(), name.count,
                                              quotedName(missing.front())));
    else if (asked.tensors && *asked.tensors != model->tensors.size())
        model->warnings.push_back(fmt::format("{}: split.tensors.count says {} tensors, but the parts hold {}.",
                                              shownPath(model->path), *asked.tensors, model->tensors.size()));
    sortByName(*model);
    dropDuplicates(*model);
    model->missing.files = std::move(missing);
    return model;
}

} // namespace

Result<std::shared_ptr<Model>> openGguf(const std::string& path) {
    auto model = newModel(path, "gguf");
    const auto header = add(*model, path);
    if (!header) return tl::unexpected(header.error());
    if (header->split && header->split->count > 1) {
        const PartName name = partName(model->path);
        if (name.count == header->split->count) return openParts(name, *header->split);
        model->warnings.push_back(fmt::format("{} says that it is part {} of {}, but it is not called "
                                              "NAME-{:05}-of-{:05}.gguf: the other parts are not looked for.",
                                              shownPath(path), header->split->number + 1, header->split->count,
                                              header->split->number + 1, header->split->count));
    }
    sortByName(*model);
    return model;
}

} // namespace qs
