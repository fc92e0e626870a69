// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/model.h"

#include "core/base/tensor_name.h"
#include "core/base/text.h"
#include "core/model/conventions/convention.h"
#include "core/model/derived_tensor.h"
#include "core/model/file_format.h"
#include "core/model/foreign_file.h"
#include "core/model/gguf/packed_type.h"
#include "core/model/mapped_file.h"
#include "core/model/output_axis.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <new>

namespace qs {
namespace {

std::string listOfTitles() {
    std::string list;
    for (const auto& format : fileFormats()) list += (list.empty() ? "" : ", ") + std::string(format.title);
    return list;
}

/// Names in a folder from which its format can be recognised, one per line (see FileFormat::sniff).
std::vector<std::byte> namesIn(const std::string& path) {
    constexpr std::size_t most = 4096, mostLooked = 100'000;
    std::string names;
    std::error_code failed;
    std::size_t looked = 0;
    for (std::filesystem::directory_iterator it(path, failed), end; !failed && it != end; it.increment(failed)) {
        const std::string name = it->path().filename().string();
        if (++looked > mostLooked || names.size() + name.size() >= most) break;
        if (name.starts_with('.') || name.starts_with('_') || name.ends_with(".json") || name.ends_with(".ocdbt"))
            names += name + '\n';
    }
    const auto bytes = std::as_bytes(std::span(names));
    return {bytes.begin(), bytes.end()};
}

/// The first bytes decide; the name decides only if no format knows the bytes. So a damaged file gets the error of its
/// format.
Result<std::shared_ptr<Model>> sniffAndOpen(const std::string& path, const ModelPart* part) {
    const auto refused = [&](const std::string& is) {
        return fail(fmt::format("{} {}.", shownPath(path), is), path, 0);
    };
    if (path.empty()) return fail("No file was named.");
    std::error_code ignored;
    const bool isFolder = std::filesystem::is_directory(path, ignored);
    std::vector<std::byte> head;
    if (isFolder) {
        head = namesIn(path);
    } else {
        auto file = MappedFile::open(path);
        if (!file) return tl::unexpected(file.error());
        if (const auto why = notWhole((*file)->size(), path); !why.empty()) return refused(why);
        if (const auto is = foreignName(path); !is.empty()) return refused(is);
        head.resize(std::min<std::size_t>((*file)->size(), 4096));
        (*file)->readInto(0, head);
    }
    const auto opened = [&](const FileFormat& format) {
        return part && format.openPart ? format.openPart(path, part) : format.open(path);
    };
    if (const auto* format = formatOfBytes(head, isFolder)) return opened(*format);
    if (const auto is = foreignFile(head); !is.empty()) return refused(is);
    if (const auto* format = formatOfName(path)) return opened(*format);
    return refused(fmt::format("is not a file that this version opens ({})", listOfTitles()));
}

} // namespace

const char* TensorInfo::typeId() const {
    if (derived) return derived->typeId();
    return packed ? packed->id : info(dtype).id;
}

std::uint64_t storedBytes(const TensorInfo& tensor) {
    return tensor.derived ? tensor.derived->storedBytes() : tensor.bytes;
}

const TensorInfo* Model::find(std::string_view name) const {
    const auto at = std::lower_bound(tensors.begin(), tensors.end(), name,
                                     [](const TensorInfo& t, std::string_view n) { return naturalLess(t.name, n); });
    return at != tensors.end() && at->name == name ? &*at : nullptr;
}

Result<void> Model::unchanged(const TensorInfo& tensor) const {
    auto same = tensor.derived ? tensor.derived->unchanged() : files[tensor.file].mapping->unchanged();
    if (!same)
        return fail(fmt::format("Tensor \"{}\": {}", escapeForPeople(tensor.name, 100), same.error().message),
                    same.error().path, same.error().offset);
    return {};
}

Result<TensorView> Model::view(const TensorInfo& tensor) const {
    if (auto same = unchanged(tensor); !same) return tl::unexpected(same.error());
    if (tensor.derived) return TensorView{&tensor, {}, nullptr};
    const auto& file = files[tensor.file].mapping;
    if (!file->isMapped()) return TensorView{&tensor, {}, file};
    return TensorView{&tensor, file->bytes().subspan(tensor.offset, tensor.bytes), file};
}

std::span<const std::byte> TensorView::read(std::uint64_t begin, std::size_t n, std::vector<std::byte>& scratch) const {
    if (!bytes.empty() || n == 0) return bytes.subspan(n == 0 ? 0 : begin, n);
    if (info->derived) {
        if (scratch.size() < n) scratch.resize(n);
        info->derived->read(begin, std::span(scratch).first(n));
        return std::span(scratch).first(n);
    }
    return file->read(info->offset + begin, n, scratch);
}

void TensorView::readInto(std::uint64_t begin, std::span<std::byte> into) const {
    if (into.empty()) return;
    if (info->derived)
        info->derived->read(begin, into);
    else if (bytes.empty())
        file->readInto(info->offset + begin, into);
    else
        std::memcpy(into.data(), bytes.data() + begin, into.size());
}

std::uint64_t Model::totalBytes() const {
    std::uint64_t total = 0;
    for (const auto& tensor : tensors) total += storedBytes(tensor);
    return total;
}

std::string missingSentence(const Model& model) {
    const auto& [tensors, first, files] = model.missing;
    const auto unread = std::ranges::count_if(model.tensors, &TensorInfo::isUnread);
    if (!model.missing.any() && unread == 0) return {};
    constexpr std::size_t mostNamed = 3;
    const auto counted = [](std::uint64_t n, const char* what) {
        return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
    };
    std::string text;
    const auto add = [&](std::string clause) { text += (text.empty() ? "" : ", ") + std::move(clause); };
    if (!files.empty()) {
        std::string names;
        for (std::size_t i = 0; i < std::min(mostNamed, files.size()); ++i)
            names += (names.empty() ? "" : ", ") + quotedName(files[i]);
        add(fmt::format("{} ({}{})", counted(files.size(), "file"), names,
                        files.size() > mostNamed ? fmt::format(" and {} more", files.size() - mostNamed) : ""));
    }
    if (tensors > 0) add(fmt::format("{} (the first is {})", counted(tensors, "tensor"), quotedName(first)));
    if (model.missing.any()) text = "Missing: " + text;
    if (unread > 0) {
        const auto* one = &*std::ranges::find_if(model.tensors, &TensorInfo::isUnread);
        text += fmt::format("{}{} cannot be read (the first is {})", text.empty() ? "" : "; ",
                            counted(std::uint64_t(unread), "tensor"), quotedName(one->name));
    }
    return text + '.';
}

Result<std::shared_ptr<const Model>> openModel(const std::string& path, const OpenOptions& options) {
    const Convention* as = options.as.empty() ? nullptr : findConvention(options.as);
    if (!options.as.empty() && !as) return fail(unknownConvention(options.as));
    try {
        auto model = sniffAndOpen(path, options.part);
        if (!model) return tl::unexpected(model.error());
        deriveLayers(**model, as);
        assignRoles(**model);
        markOutputAxes(**model);
        return std::shared_ptr<const Model>(std::move(*model));
    } catch (const std::bad_alloc&) {
        return fail(
            fmt::format("{} does not open: there is not enough memory for its list of tensors.", shownPath(path)),
            path);
    } catch (const std::filesystem::filesystem_error& error) {
        return fail(fmt::format("{} does not open: {}.", shownPath(path), escapeForPeople(error.what(), 200)), path);
    }
}

} // namespace qs
