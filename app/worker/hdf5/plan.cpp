// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/worker/hdf5/plan.h"

#include "app/worker/hdf5/memory_driver.h"
#include "app/worker/hdf5/text_attribute.h"

#include <algorithm>
#include <numeric>
#include <string_view>

namespace qs::worker {
namespace {

constexpr hsize_t kAligned = 64, kAlignedFrom = 1024; ///< datasets of 1 KiB or more begin at a cache line
constexpr hsize_t kHeaderBlock = 1u << 16;            ///< bytes; in files of many datasets headers lie in such blocks
constexpr std::size_t kManySets = 256;

/// A 16-bit float type. IEEE half precision has 5 bits of exponent, bfloat16 has 8.
TypeHandle float16(std::size_t exponentBits) {
    TypeHandle type(H5Tcopy(H5T_IEEE_F32LE));
    const std::size_t mantissaBits = 15 - exponentBits;
    if (H5Tset_fields(type.get(), 15, mantissaBits, exponentBits, 0, mantissaBits) < 0 ||
        H5Tset_size(type.get(), 2) < 0 || H5Tset_ebias(type.get(), (std::size_t(1) << (exponentBits - 1)) - 1) < 0)
        return TypeHandle();
    return type;
}

/// The enumeration FALSE, TRUE with which h5py stores NumPy's bool.
TypeHandle boolean() {
    TypeHandle type(H5Tenum_create(H5T_STD_I8LE));
    const signed char no = 0, yes = 1;
    if (H5Tenum_insert(type.get(), "FALSE", &no) < 0 || H5Tenum_insert(type.get(), "TRUE", &yes) < 0)
        return TypeHandle();
    return type;
}

TypeHandle typeOf(std::string_view id) {
    if (id == "F16") return float16(5);
    if (id == "BF16") return float16(8);
    if (id == "BOOL") return boolean();
    const std::pair<std::string_view, hid_t> plain[] = {
        {"F32", H5T_IEEE_F32LE}, {"F64", H5T_IEEE_F64LE}, {"I8", H5T_STD_I8LE}, {"I16", H5T_STD_I16LE},
        {"I32", H5T_STD_I32LE},  {"I64", H5T_STD_I64LE},  {"U8", H5T_STD_U8LE}, {"U16", H5T_STD_U16LE},
        {"U32", H5T_STD_U32LE},  {"U64", H5T_STD_U64LE}};
    const auto found = std::ranges::find_if(plain, [&](const auto& row) { return row.first == id; });
    return found == std::end(plain) ? TypeHandle() : TypeHandle(H5Tcopy(found->second));
}

bool addNumbers(hid_t object, const char* name, const std::vector<std::int64_t>& numbers) {
    const hsize_t count = numbers.size();
    const SpaceHandle space(H5Screate_simple(1, &count, nullptr));
    const AttributeHandle made(H5Acreate2(object, name, H5T_STD_I64LE, space.get(), H5P_DEFAULT, H5P_DEFAULT));
    return made && (numbers.empty() || H5Awrite(made.get(), H5T_NATIVE_INT64, numbers.data()) >= 0);
}

bool addAttributes(hid_t object, const nlohmann::json& attributes) {
    for (const auto& [name, value] : attributes.items())
        if (!(value.is_string() ? addText(object, name.c_str(), value.get<std::string>())
                                : addNumbers(object, name.c_str(), value.get<std::vector<std::int64_t>>())))
            return false;
    return true;
}

struct Extent {
    std::uint64_t begin = 0, bytes = 0;
};

bool addSet(hid_t file, const PlannedSet& set, hid_t links, hid_t creation, Extent& extent) {
    const std::vector<hsize_t> dims(set.shape.begin(), set.shape.end());
    const SpaceHandle space(dims.empty() ? H5Screate(H5S_SCALAR)
                                         : H5Screate_simple(int(dims.size()), dims.data(), nullptr));
    const TypeHandle type = typeOf(set.type);
    if (!space || !type) return false;
    const DatasetHandle made(H5Dcreate2(file, set.path.c_str(), type.get(), space.get(), links, creation, H5P_DEFAULT));
    if (!made || !addAttributes(made.get(), set.attributes)) return false;
    const auto elements =
        std::accumulate(set.shape.begin(), set.shape.end(), std::uint64_t(1), std::multiplies<std::uint64_t>());
    extent.bytes = elements * H5Tget_size(type.get());
    if (extent.bytes == 0) return true;
    const haddr_t at = H5Dget_offset(made.get());
    extent.begin = at;
    return at != HADDR_UNDEF && H5Dget_storage_size(made.get()) == extent.bytes;
}

} // namespace

bool planFile(const std::vector<PlannedSet>& sets, const nlohmann::json& attributes, FilePlan& plan) {
    const ListHandle access = memoryFileAccess();
    const ListHandle links(H5Pcreate(H5P_LINK_CREATE)), creation(H5Pcreate(H5P_DATASET_CREATE));
    if (!access || H5Pset_alignment(access.get(), kAlignedFrom, kAligned) < 0 ||
        H5Pset_small_data_block_size(access.get(), 0) < 0 || H5Pset_create_intermediate_group(links.get(), 1) < 0 ||
        H5Pset_char_encoding(links.get(), H5T_CSET_UTF8) < 0 || H5Pset_obj_track_times(creation.get(), false) < 0 ||
        // HDF5 reserves the addresses of the elements at once, and never writes elements or fill values here.
        H5Pset_alloc_time(creation.get(), H5D_ALLOC_TIME_EARLY) < 0 ||
        H5Pset_fill_time(creation.get(), H5D_FILL_TIME_NEVER) < 0)
        return false;
    if (sets.size() >= kManySets && H5Pset_meta_block_size(access.get(), kHeaderBlock) < 0) return false;
    std::vector<Extent> extents(sets.size());
    {
        FileHandle file(H5Fcreate("/export", H5F_ACC_TRUNC, H5P_DEFAULT, access.get()));
        if (!file || !addAttributes(file.get(), attributes)) return false;
        for (std::size_t i = 0; i < sets.size(); ++i)
            if (!addSet(file.get(), sets[i], links.get(), creation.get(), extents[i])) return false;
        if (H5Fflush(file.get(), H5F_SCOPE_GLOBAL) < 0) return false;
    } // closing the file writes its size into its first block
    plan.end = memoryFileEnd();
    for (const auto& extent : extents) plan.offsets.push_back(extent.begin);
    std::ranges::sort(extents, [](const auto& a, const auto& b) { return a.begin < b.begin; });
    std::uint64_t at = 0;
    const auto take = [&](std::uint64_t end) {
        if (end < at) return false;
        const auto size = plan.between.size();
        plan.between.resize(size + (end - at));
        readMemoryFile(at, end - at, plan.between.data() + size);
        return true;
    };
    for (const auto& extent : extents) {
        if (extent.bytes == 0) continue;
        if (!take(extent.begin)) return false;
        at = extent.begin + extent.bytes;
    }
    return take(plan.end);
}

} // namespace qs::worker
