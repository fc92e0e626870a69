// SPDX-License-Identifier: GPL-3.0-or-later
// make_hdf5 FOLDER [many|long]: writes the files of hdf5_test with libhdf5, both correct and hostile ones. Element i of
// every tensor is i - 3, or half of that in floating point.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <hdf5.h>
#include <string>
#include <unistd.h>
#include <vector>

// Memory that libhdf5 holds at the end is not tested here.
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }

namespace {

std::string folder;

/// Every call must succeed. Otherwise an incomplete file could be refused for the wrong reason.
template<class T> T must(T result) {
    if (result < 0) {
        std::fprintf(stderr, "make_hdf5: a call of HDF5 failed\n");
        std::exit(1);
    }
    return result;
}

hid_t newFile(const char* name, hid_t creation = H5P_DEFAULT) {
    return must(H5Fcreate((folder + "/" + name).c_str(), H5F_ACC_TRUNC, creation, H5P_DEFAULT));
}

template<class T> std::vector<T> counted(std::size_t n, double scale = 1) {
    std::vector<T> values(n);
    for (std::size_t i = 0; i < n; ++i) {
        const double value = (double(i) - 3) * scale;
        if constexpr (std::is_integral_v<T>)
            values[i] = T(std::int64_t(value)); // via an integer: a negative double cannot be converted to an unsigned
                                                // type
        else
            values[i] = T(value);
    }
    return values;
}

std::size_t product(const std::vector<hsize_t>& dims) {
    std::size_t n = 1;
    for (const auto dim : dims) n *= dim;
    return n;
}

void dataset(hid_t at, const char* name, hid_t type, const std::vector<hsize_t>& dims, hid_t memory, const void* values,
             hid_t creation = H5P_DEFAULT) {
    const hid_t space =
        must(dims.empty() ? H5Screate(H5S_SCALAR) : H5Screate_simple(int(dims.size()), dims.data(), nullptr));
    const hid_t set = must(H5Dcreate2(at, name, type, space, H5P_DEFAULT, creation, H5P_DEFAULT));
    if (values) must(H5Dwrite(set, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
    H5Dclose(set);
    H5Sclose(space);
}

void floats(hid_t at, const char* name, hid_t type, const std::vector<hsize_t>& dims, hid_t creation = H5P_DEFAULT) {
    dataset(at, name, type, dims, H5T_NATIVE_DOUBLE, counted<double>(product(dims), 0.5).data(), creation);
}
void whole(hid_t at, const char* name, hid_t type, const std::vector<hsize_t>& dims, hid_t creation = H5P_DEFAULT) {
    auto values = counted<long long>(product(dims));
    if (H5Tget_sign(type) == H5T_SGN_NONE)
        for (auto& v : values) v += 3;
    dataset(at, name, type, dims, H5T_NATIVE_LLONG, values.data(), creation);
}

hid_t half() {
    const hid_t type = must(H5Tcopy(H5T_IEEE_F32LE));
    must(H5Tset_fields(type, 15, 10, 5, 0, 10));
    must(H5Tset_size(type, 2));
    must(H5Tset_ebias(type, 15));
    return type;
}

hid_t chunks(const std::vector<hsize_t>& dims) {
    const hid_t list = must(H5Pcreate(H5P_DATASET_CREATE));
    must(H5Pset_chunk(list, int(dims.size()), dims.data()));
    return list;
}

void attribute(hid_t object, const char* name, const char* text) {
    const hid_t type = must(H5Tcopy(H5T_C_S1)), space = must(H5Screate(H5S_SCALAR));
    must(H5Tset_size(type, H5T_VARIABLE));
    const hid_t made = must(H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT));
    must(H5Awrite(made, type, &text));
    H5Aclose(made);
}

void honest(hid_t file) {
    attribute(file, "keras_version", "3.0.0");
    floats(file, "f2", half(), {3, 5});
    floats(file, "f4", H5T_IEEE_F32LE, {3, 5});
    floats(file, "f8", H5T_IEEE_F64LE, {15});
    floats(file, "big-endian", H5T_IEEE_F32BE, {3, 5});
    whole(file, "i1", H5T_STD_I8LE, {15});
    whole(file, "i2", H5T_STD_I16LE, {15});
    whole(file, "i4", H5T_STD_I32LE, {15});
    whole(file, "i8", H5T_STD_I64LE, {15});
    whole(file, "u1", H5T_STD_U8LE, {15});
    whole(file, "u2", H5T_STD_U16BE, {15});
    whole(file, "u4", H5T_STD_U32LE, {15});
    whole(file, "u8", H5T_STD_U64LE, {15});
    floats(file, "scalar", H5T_IEEE_F32LE, {});
    floats(file, "nothing", H5T_IEEE_F32LE, {0, 4});
    const hid_t group = must(H5Gcreate2(file, "group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    const hid_t packed = chunks({2, 8, 3});
    must(H5Pset_shuffle(packed));
    must(H5Pset_deflate(packed, 6));
    floats(group, "gzip", H5T_IEEE_F32LE, {7, 33, 5}, packed);
    floats(group, "unpacked chunks", H5T_IEEE_F64LE, {9, 7}, chunks({4, 4}));
    const hid_t wide = chunks({64, 128});
    must(H5Pset_deflate(wide, 1));
    floats(group, "several windows", H5T_IEEE_F32LE, {1300, 1000}, wide);
    const hid_t compact = must(H5Pcreate(H5P_DATASET_CREATE));
    must(H5Pset_layout(compact, H5D_COMPACT));
    floats(group, "compact", H5T_IEEE_F32LE, {3, 5}, compact);
    const hid_t filled = must(H5Pcreate(H5P_DATASET_CREATE));
    const float fill = 1.5F;
    must(H5Pset_fill_value(filled, H5T_NATIVE_FLOAT, &fill));
    dataset(group, "never written", H5T_IEEE_F32LE, {4, 4}, -1, nullptr, filled);
    // bfloat16 as Keras stores it: two opaque bytes with an attribute.
    const hid_t two = must(H5Tcreate(H5T_OPAQUE, 2));
    const auto bits = counted<unsigned short>(15);
    dataset(group, "bfloat16", two, {15}, two, bits.data());
    const hid_t marked = must(H5Dopen2(group, "bfloat16", H5P_DEFAULT));
    attribute(marked, "dtype", "bfloat16");
    H5Dclose(marked);
    dataset(group, "opaque", two, {15}, two, bits.data());
    const hid_t flag = must(H5Tenum_create(H5T_NATIVE_INT8));
    signed char off = 0, on = 1;
    must(H5Tenum_insert(flag, "FALSE", &off));
    must(H5Tenum_insert(flag, "TRUE", &on));
    const signed char flags[] = {1, 0, 1};
    dataset(group, "bool", flag, {3}, flag, flags);
    off = 7;
    const hid_t other = must(H5Tenum_create(H5T_NATIVE_INT8));
    must(H5Tenum_insert(other, "RED", &off));
    dataset(group, "enumeration", other, {3}, -1, nullptr);
    const hid_t text = must(H5Tcopy(H5T_C_S1));
    must(H5Tset_size(text, 8));
    dataset(group, "texts", text, {3}, -1, nullptr);
    const hid_t record = must(H5Tcreate(H5T_COMPOUND, 8));
    must(H5Tinsert(record, "re", 0, H5T_NATIVE_FLOAT));
    must(H5Tinsert(record, "im", 4, H5T_NATIVE_FLOAT));
    dataset(group, "records", record, {3}, -1, nullptr);
    dataset(group, "references", H5T_STD_REF_OBJ, {3}, -1, nullptr);
    dataset(group, "lists", must(H5Tvlen_create(H5T_NATIVE_INT)), {3}, -1, nullptr);
    const hid_t none = must(H5Screate(H5S_NULL));
    must(H5Dcreate2(group, "null", H5T_IEEE_F32LE, none, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    must(H5Tcommit2(group, "type", half(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    must(H5Lcreate_hard(file, "f4", group, "tied", H5P_DEFAULT, H5P_DEFAULT));
    must(H5Lcreate_hard(file, "/", group, "loop", H5P_DEFAULT, H5P_DEFAULT));
}

size_t passThrough(unsigned, size_t, const unsigned*, size_t bytes, size_t*, void**) { return bytes; }
hid_t neverFollowed(const char*, hid_t, const void*, size_t, hid_t, hid_t) { return -1; }

/// Replaces every 8-byte number `from` in a file by `to`.
void patch(const char* name, unsigned long long from, unsigned long long to) {
    std::FILE* file = std::fopen((folder + "/" + name).c_str(), "r+b");
    must(file ? 0 : -1);
    std::vector<char> bytes(1 << 20);
    bytes.resize(std::fread(bytes.data(), 1, bytes.size(), file));
    int patched = 0;
    for (std::size_t i = 0; i + 8 <= bytes.size(); ++i)
        if (std::memcmp(bytes.data() + i, &from, 8) == 0) std::memcpy(bytes.data() + i, &to, 8), ++patched;
    must(patched > 0 && std::fseek(file, 0, SEEK_SET) == 0 ? 0 : -1);
    must(std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size() && std::fclose(file) == 0 ? 0 : -1);
}

/// A file for one hostile object, with a tensor "good" that must stay readable.
hid_t hostile(const char* name) {
    const hid_t file = newFile(name);
    floats(file, "good", H5T_IEEE_F32LE, {3, 5});
    return file;
}

void writeHostile() {
    hid_t file = hostile("soft-link.h5");
    must(H5Lcreate_soft("/loop", file, "loop", H5P_DEFAULT, H5P_DEFAULT));
    must(H5Lcreate_soft("/good", file, "soft", H5P_DEFAULT, H5P_DEFAULT));
    H5Fclose(file);
    file = hostile("external-link.h5");
    must(H5Lcreate_external("/etc/passwd", "/", file, "link", H5P_DEFAULT, H5P_DEFAULT));
    H5Fclose(file);

    file = hostile("user-link.h5");
    const H5L_class_t kind = {H5L_LINK_CLASS_T_VERS, H5L_type_t(200), "made up", nullptr, nullptr, nullptr,
                              neverFollowed,         nullptr,         nullptr};
    must(H5Lregister(&kind));
    must(H5Lcreate_ud(file, "link", H5L_type_t(200), "x", 1, H5P_DEFAULT, H5P_DEFAULT));
    H5Fclose(file);

    file = hostile("external-storage.h5");
    hid_t list = must(H5Pcreate(H5P_DATASET_CREATE));
    must(H5Pset_external(list, "/etc/passwd", 0, 60));
    dataset(file, "stolen", H5T_STD_U8LE, {60}, -1, nullptr, list);
    H5Fclose(file);

    file = hostile("virtual.h5");
    list = must(H5Pcreate(H5P_DATASET_CREATE));
    const hsize_t dims[] = {3, 5};
    const hid_t space = must(H5Screate_simple(2, dims, nullptr));
    must(H5Pset_virtual(list, space, "soft-link.h5", "/good", space));
    dataset(file, "virtual", H5T_IEEE_F32LE, {3, 5}, -1, nullptr, list);
    H5Fclose(file);

    file = hostile("filter.h5");
    const H5Z_class2_t filter = {H5Z_CLASS_T_VERS, H5Z_filter_t(32000), 1, 1, "lzf", nullptr, nullptr, passThrough};
    must(H5Zregister(&filter));
    list = chunks({3, 5});
    must(H5Pset_filter(list, 32000, 0, 0, nullptr));
    floats(file, "packed", H5T_IEEE_F32LE, {3, 5}, list);
    H5Fclose(file);

    file = hostile("bomb.h5");
    dataset(file, "bomb", H5T_IEEE_F32LE, {hsize_t(1) << 20, hsize_t(1) << 20}, -1, nullptr, chunks({64, 64}));
    H5Fclose(file);
    file = hostile("chunk.h5");
    dataset(file, "chunk", H5T_IEEE_F32LE, {16384, 16384}, -1, nullptr, chunks({16384, 8192}));
    H5Fclose(file);

    file = hostile("compact.h5"); // more elements than its header holds
    list = must(H5Pcreate(H5P_DATASET_CREATE));
    must(H5Pset_layout(list, H5D_COMPACT));
    whole(file, "compact", H5T_STD_I32LE, {37}, list);
    H5Fclose(file);
    patch("compact.h5", 37, 900);

    file = hostile("deep.h5");
    hid_t at = file;
    for (int i = 0; i < 80; ++i) at = must(H5Gcreate2(at, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Fclose(file);
    file = hostile("weight-names.h5"); // a weight name of Keras whose first part is a link to another file
    attribute(file, "weight_names", "dense/kernel:0");
    must(H5Lcreate_external("/etc/passwd", "/", file, "dense", H5P_DEFAULT, H5P_DEFAULT));
    H5Fclose(file);
    file = hostile("control.h5");
    floats(file, "a\x1b[31m\n\xe2\x80\xae", H5T_IEEE_F32LE, {3, 5});
    H5Fclose(file);
}

} // namespace

/// As many small tensors as the bytes allow: the newest layout, one number in each.
void writeMany() {
    const hid_t access = must(H5Pcreate(H5P_FILE_ACCESS));
    must(H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST));
    const hid_t file = must(H5Fcreate((folder + "/many.h5").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access));
    const hid_t creation = must(H5Pcreate(H5P_DATASET_CREATE));
    must(H5Pset_layout(creation, H5D_COMPACT));
    for (int i = 0; i < 20'000; ++i) floats(file, std::to_string(i).c_str(), H5T_IEEE_F32LE, {}, creation);
    H5Fclose(file);
}

/// Many soft links in a group with the longest allowed path. Each repeats the path in the list.
void writeLong() {
    hid_t at = newFile("long-paths.h5");
    const hid_t file = at;
    const std::string name(250, 'g');
    for (int i = 0; i < 60; ++i) at = must(H5Gcreate2(at, name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    for (int i = 0; i < 20'000; ++i) must(H5Lcreate_soft("/", at, std::to_string(i).c_str(), H5P_DEFAULT, H5P_DEFAULT));
    H5Fclose(file);
}

int main(int argc, char** argv) {
    if (argc != 2 && argc != 3) return 2;
    folder = argv[1];
    if (argc == 3) {
        std::strcmp(argv[2], "long") == 0 ? writeLong() : writeMany();
        return 0;
    }
    const hid_t file = newFile("honest.h5");
    honest(file);
    H5Fclose(file);
    const hid_t creation = must(H5Pcreate(H5P_FILE_CREATE));
    must(H5Pset_userblock(creation, 1024));
    const hid_t behind = newFile("user-block.h5", creation);
    honest(behind);
    H5Fclose(behind);
    // The newest layout that libhdf5 writes: other headers and indices.
    const hid_t access = must(H5Pcreate(H5P_FILE_ACCESS));
    must(H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST));
    const hid_t latest = must(H5Fcreate((folder + "/latest.h5").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access));
    honest(latest);
    H5Fclose(latest);
    writeHostile();
    return 0;
}
