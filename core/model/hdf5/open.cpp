// SPDX-License-Identifier: GPL-3.0-or-later
// Makes tensors from the rows of an HDF5 file. Plain ones lie in the mapping; the others are read through the reader.
#include "core/base/text.h"
#include "core/model/derived_tensor.h"
#include "core/model/file_set.h"
#include "core/model/foreign_file.h"
#include "core/model/hdf5/again.h"
#include "core/model/hdf5/hdf5.h"
#include "core/model/hdf5/reader.h"
#include "core/model/list_budget.h"
#include "core/model/mapped_file.h"
#include "core/model/unread.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

namespace qs {
namespace {

constexpr std::size_t kMostWarnings = 100;
constexpr std::string_view kCodes = ".codes";
constexpr const char* kOursKey = "quantscope_hdf5";

class Hdf5Tensor final : public DerivedTensor {
public:
    Hdf5Tensor(std::shared_ptr<Hdf5Reader> reader, std::size_t row, std::shared_ptr<MappedFile> file)
        : reader_(std::move(reader)), row_(row), file_(std::move(file)) {}
    const char* typeId() const override { return info(row().dtype).id; }
    std::string description() const override { return "HDF5, " + row().note; }
    std::vector<std::string> fields() const override { return {}; }
    std::uint64_t storedBytes() const override { return row().stored; }
    void read(std::uint64_t begin, std::span<std::byte> into) const override { reader_->read(row_, begin, into); }
    Result<void> unchanged() const override {
        if (auto failure = reader_->failure(row_); !failure) return failure;
        return file_->unchanged();
    }

private:
    const Hdf5Row& row() const { return reader_->rows()[row_]; }
    std::shared_ptr<Hdf5Reader> reader_;
    std::size_t row_;
    std::shared_ptr<MappedFile> file_;
};

/// As __metadata__ of our other layouts says of a quantized tensor; who asks for its values checks it. Returns the
/// bytes of what was added.
std::uint64_t addQuantized(std::map<std::string, std::string>& metadata, const std::string& tensor,
                           const Hdf5Row& row) {
    if (row.quantized.empty()) return 0;
    nlohmann::json said(row.quantized);
    said["shape"] = row.quantizedShape;
    if (const auto columns = row.quantized.find("column_scale"); columns != row.quantized.end())
        said["column_scale"] = columns->second == "true";
    const auto length = tensor.size() - (tensor.ends_with(kCodes) ? kCodes.size() : 0);
    auto& text = metadata["quantscope." + tensor.substr(0, length)];
    text = said.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    return text.size() + length;
}

} // namespace

Result<Descriptor> openAgain(const MappedFile& file) {
    const auto path = file.memory() < 0 ? file.path() : fmt::format("/proc/self/fd/{}", file.memory());
    Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (file.memory() >= 0 && descriptor.get() >= 0) return descriptor;
    struct stat status {};
    if (descriptor.get() < 0 || fstat(descriptor.get(), &status) != 0 || status.st_dev != file.device() ||
        status.st_ino != file.inode())
        return fail(shownPath(file.path()) + " was replaced while it was opened.", file.path());
    return descriptor;
}

Result<void> addHdf5(Model& model, const Hdf5Part& part) {
    auto reader = Hdf5Reader::open(part.shown, part.descriptor, part.base, part.length);
    if (!reader) return tl::unexpected(reader.error());
    if ((*reader)->metadata().contains("quantscope_session"))
        return fail(escapeForPeople(part.shown, 200) +
                        " is a session of QuantScope, not a checkpoint: open it in the window.",
                    part.shown);
    const auto& rows = (*reader)->rows();
    ListBudget budget(model, 0);
    const auto tooLong = [&] {
        return fail(fmt::format("{}: {}.", escapeForPeople(part.shown, 200), budget.why("its list of tensors")),
                    part.shown);
    };
    for (const auto& row : rows)
        if (!budget.take(sizeof row + ListBudget::of(row.path) + ListBudget::of(row.reason) + ListBudget::of(row.note) +
                         ListBudget::heap(row.shape.capacity() * 8)))
            return tooLong();
    const auto& file = model.files[part.file].mapping;
    std::size_t refused = 0;
    bool needed = false;
    const auto version = (*reader)->metadata().find(kOursKey);
    const bool ours = version != (*reader)->metadata().end() && version->second == "1";
    if (version != (*reader)->metadata().end() && !ours)
        model.warnings.push_back(
            fmt::format("{} was written by another QuantScope (layout hdf5 of version {}; this one "
                        "reads version 1): its codes are listed as they are.",
                        escapeForPeople(part.shown, 120), escapeForPeople(version->second, 20)));
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const auto& row = rows[i];
        if (!row.reason.empty()) {
            if (++refused <= kMostWarnings)
                model.warnings.push_back(fmt::format("{}: \"{}\" {}.", escapeForPeople(part.shown, 120),
                                                     escapeForPeople(row.path), escapeForPeople(row.reason, 300)));
            if (!row.isUnread) continue;
        }
        TensorInfo tensor;
        tensor.name = row.path.substr(row.path.starts_with('/') ? 1 : 0);
        if (row.isUnread) {
            markUnread(tensor);
            tensor.file = part.file;
            if (!budget.take(tensor)) return tooLong();
            model.tensors.push_back(std::move(tensor));
            continue;
        }
        tensor.dtype = row.dtype;
        tensor.shape = row.shape;
        tensor.elements = row.elements;
        tensor.bytes = row.bytes;
        tensor.file = part.file;
        if (row.offset) {
            tensor.offset = part.base + *row.offset;
        } else if (row.bytes > 0) {
            tensor.derived = std::make_shared<Hdf5Tensor>(*reader, i, file);
            needed = true;
        }
        const std::uint64_t said = ours ? addQuantized(model.files[part.file].metadata, tensor.name, row) : 0;
        if (!budget.take(tensor, said + (tensor.derived ? sizeof(Hdf5Tensor) + 32 : 0))) return tooLong();
        model.tensors.push_back(std::move(tensor));
    }
    if (refused > kMostWarnings)
        model.warnings.push_back(
            fmt::format("{}: {} more are not read.", escapeForPeople(part.shown, 120), refused - kMostWarnings));
    model.files[part.file].metadata.insert((*reader)->metadata().begin(), (*reader)->metadata().end());
    if (!needed) (*reader)->end();
    return {};
}

Result<std::shared_ptr<Model>> openHdf5(const std::string& path) {
    auto mapping = openWhole(path);
    if (!mapping) return tl::unexpected(mapping.error());
    const MappedFile& file = **mapping;
    auto descriptor = openAgain(file);
    if (!descriptor) return tl::unexpected(descriptor.error());
    auto model = newModel(path, "hdf5");
    model->files.push_back({file.path(), file.size(), *mapping, {}});
    const Hdf5Part part{path, *descriptor, 0, file.size(), 0};
    if (auto added = addHdf5(*model, part); !added) return tl::unexpected(added.error());
    sortByName(*model);
    dropDuplicates(*model);
    return model;
}

} // namespace qs
