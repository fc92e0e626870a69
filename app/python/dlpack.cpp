// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/python/dlpack.h"

#include "app/python/fault.h"
#include "core/base/text.h"

#include <cstring>
#include <fmt/format.h>
#include <optional>

namespace qs::python {
namespace {

// The structures of DLPack before version 1.0, which every library gives where no version is asked for.
// https://dmlc.github.io/dlpack/latest/c_api.html
struct DlDevice {
    std::int32_t type, id;
};
struct DlType {
    std::uint8_t code, bits;
    std::uint16_t lanes;
};
struct DlTensor {
    void* data;
    DlDevice device;
    std::int32_t rank;
    DlType type;
    std::int64_t* shape;
    std::int64_t* strides; ///< in elements; null: C order
    std::uint64_t offset;  ///< of the first element, in bytes
};

constexpr std::int32_t kCpu = 1, kCudaHost = 3; // devices whose memory the CPU reads

struct DlTypeRow {
    std::uint8_t code, bits;
    DType dtype;
};
constexpr DlTypeRow kDlTypes[] = {
    {0, 8, DType::I8},       {0, 16, DType::I16},         {0, 32, DType::I32},     {0, 64, DType::I64},
    {1, 8, DType::U8},       {1, 16, DType::U16},         {1, 32, DType::U32},     {1, 64, DType::U64},
    {2, 16, DType::F16},     {2, 32, DType::F32},         {2, 64, DType::F64},     {4, 16, DType::BF16},
    {5, 64, DType::C64},     {6, 8, DType::Bool},         {10, 8, DType::F8_E4M3}, {11, 8, DType::F8_E4M3FNUZ},
    {12, 8, DType::F8_E5M2}, {13, 8, DType::F8_E5M2FNUZ}, {14, 8, DType::F8_E8M0},
};

std::optional<DType> typeOf(DlType type) {
    for (const DlTypeRow& row : kDlTypes)
        if (row.code == type.code && row.bits == type.bits && type.lanes == 1) return row.dtype;
    return std::nullopt;
}

std::string placeOfArray(const std::string& name) {
    return name.empty() ? "the array" : fmt::format("array '{}'", escapeForPeople(name, 80));
}

bool isInOrder(const DlTensor& tensor) {
    std::int64_t step = 1;
    for (std::int32_t axis = tensor.rank; tensor.strides && axis-- > 0; step *= tensor.shape[axis])
        if (tensor.shape[axis] > 1 && tensor.strides[axis] != step) return false;
    return true;
}

/// The elements in C order.
std::vector<std::byte> inOrder(const DlTensor& tensor, const std::byte* data, std::uint64_t elements) {
    const std::size_t size = tensor.type.bits / 8;
    std::vector<std::byte> out(elements * size);
    std::vector<std::int64_t> index(std::size_t(tensor.rank), 0);
    for (std::uint64_t i = 0; i < elements; ++i) {
        std::int64_t at = 0;
        for (std::size_t axis = 0; axis < index.size(); ++axis) at += index[axis] * tensor.strides[axis];
        std::memcpy(out.data() + i * size, data + at * std::int64_t(size), size);
        for (std::size_t axis = index.size(); axis-- > 0;) {
            if (++index[axis] < tensor.shape[axis]) break;
            index[axis] = 0;
        }
    }
    return out;
}

} // namespace

std::unique_ptr<ArrayTensor> tensorOfDlpack(const py::object& array, const std::string& name) {
    const std::string place = placeOfArray(name);
    const auto refuse = [&](const std::string& why) -> void { throw Fault(Error{place + " " + why, {}}); };
    py::object capsule;
    try {
        if (py::hasattr(array, "__dlpack_device__")) {
            const auto device = array.attr("__dlpack_device__")().cast<std::pair<int, int>>();
            if (device.first != kCpu && device.first != kCudaHost)
                refuse("is in the memory of a device: copy it to the CPU first");
        }
        capsule = array.attr("__dlpack__")();
    } catch (const py::error_already_set& error) { // a library refuses: a gradient, a type, no memory at all
        if (!error.matches(PyExc_BufferError) && !error.matches(PyExc_RuntimeError) && !error.matches(PyExc_ValueError))
            throw;
        refuse(fmt::format("cannot be read: {}", escapeForPeople(py::str(error.value()).cast<std::string>(), 200)));
    }
    const auto* tensor = static_cast<const DlTensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
    if (!tensor) throw py::error_already_set();
    const auto type = typeOf(tensor->type);
    if (!type)
        refuse(fmt::format("has elements of DLPack's type {} with {} bits, which are none that a file can hold",
                           tensor->type.code, tensor->type.bits));
    auto out = std::make_unique<ArrayTensor>();
    out->info.name = name, out->info.dtype = *type;
    out->info.shape = std::vector<std::int64_t>(tensor->shape, tensor->shape + tensor->rank);
    out->info.elements = 1;
    for (const std::int64_t size : out->info.shape) out->info.elements *= std::uint64_t(size);
    out->info.bytes = out->info.elements * tensor->type.bits / 8;
    const auto* data = static_cast<const std::byte*>(tensor->data) + tensor->offset;
    if (isInOrder(*tensor)) {
        out->bytes = {data, std::size_t(out->info.bytes)};
    } else {
        out->copy = inOrder(*tensor, data, out->info.elements);
        out->bytes = out->copy;
    }
    out->owner = capsule; // not renamed to "used_dltensor": its own destructor frees the tensor
    return out;
}

} // namespace qs::python
