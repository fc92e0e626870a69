// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/worker/hdf5/image.h"

#include "app/worker/hdf5/text_attribute.h"

namespace qs::worker {
namespace {

bool addPart(hid_t file, const Part& part, hid_t links, hid_t creation) {
    const std::vector<hsize_t> dims(part.shape.begin(), part.shape.end());
    const SpaceHandle space(H5Screate_simple(int(dims.size()), dims.data(), nullptr));
    const hid_t type = part.isText ? H5T_STD_U8LE : H5T_IEEE_F64LE;
    const DatasetHandle set(H5Dcreate2(file, part.path.c_str(), type, space.get(), links, creation, H5P_DEFAULT));
    return space && set &&
           (part.values.empty() || H5Dwrite(set.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, part.values.data()) >= 0);
}

} // namespace

std::vector<unsigned char> makeImage(std::span<const Part> parts,
                                     const std::map<std::string, std::string>& attributes) {
    const ListHandle access(H5Pcreate(H5P_FILE_ACCESS)), links(H5Pcreate(H5P_LINK_CREATE)),
        creation(H5Pcreate(H5P_DATASET_CREATE));
    if (H5Pset_fapl_core(access.get(), 1u << 20, false) < 0 || H5Pset_create_intermediate_group(links.get(), 1) < 0 ||
        H5Pset_obj_track_times(creation.get(), false) < 0)
        return {};
    const FileHandle file(H5Fcreate("/session", H5F_ACC_TRUNC, H5P_DEFAULT, access.get()));
    if (!file) return {};
    for (const auto& [name, text] : attributes)
        if (!addText(file.get(), name.c_str(), text)) return {};
    for (const auto& part : parts)
        if (!addPart(file.get(), part, links.get(), creation.get())) return {};
    if (H5Fflush(file.get(), H5F_SCOPE_GLOBAL) < 0) return {};
    const ssize_t bytes = H5Fget_file_image(file.get(), nullptr, 0);
    if (bytes <= 0) return {};
    std::vector<unsigned char> image(static_cast<std::size_t>(bytes));
    if (H5Fget_file_image(file.get(), image.data(), image.size()) != bytes) return {};
    return image;
}

} // namespace qs::worker
