// SPDX-License-Identifier: GPL-3.0-or-later
// Opens .keras files: ZIP archives with the weights as HDF5. A member that is not compressed is read in the archive; a
// deflated one is unpacked to memory.
#include "core/base/text.h"
#include "core/model/file_set.h"
#include "core/model/foreign_file.h"
#include "core/model/hdf5/again.h"
#include "core/model/hdf5/hdf5.h"
#include "core/model/mapped_file.h"
#include "core/model/zip/zip.h"

#include <fmt/format.h>

namespace qs {
namespace {

constexpr const char* kWeights = "model.weights.h5";

} // namespace

Result<std::shared_ptr<Model>> openKeras(const std::string& path) {
    auto mapping = openWhole(path);
    if (!mapping) return tl::unexpected(mapping.error());
    const auto archive = ZipArchive::open(*mapping);
    if (!archive) return tl::unexpected(archive.error());
    const auto* weights = archive->find(kWeights);
    if (!weights)
        return fail(fmt::format("{} has no {}; save it with Keras 3 without other formats of weights.", shownPath(path),
                                kWeights),
                    path);
    auto model = newModel(path, "keras");
    const auto unchecked = archive->checkStored();
    if (!unchecked) return tl::unexpected(unchecked.error());
    if (const auto bad = unchecked->damaged.find(weights); bad != unchecked->damaged.end())
        return tl::unexpected(bad->second);
    if (unchecked->left > 0) model->warnings.push_back(uncheckedText(path, unchecked->left));
    auto file = *mapping;
    std::uint64_t base = weights->offset;
    if (weights->isDeflated) {
        const ZipMember* const members[] = {weights};
        auto inflated = archive->inflate(members);
        if (!inflated) return tl::unexpected(inflated.error());
        if (!inflated->damaged.empty()) return tl::unexpected(inflated->damaged.begin()->second);
        file = inflated->memory;
        base = inflated->offsets[0];
    }
    model->files.push_back({file->path(), (*mapping)->size(), file, {}});
    auto descriptor = openAgain(*file);
    if (!descriptor) return tl::unexpected(descriptor.error());
    const Hdf5Part part{path, *descriptor, base, weights->bytes, 0};
    if (auto added = addHdf5(*model, part); !added) return tl::unexpected(added.error());
    sortByName(*model);
    dropDuplicates(*model);
    return model;
}

} // namespace qs
