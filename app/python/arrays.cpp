// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/python/arrays.h"

#include "app/python/dlpack.h"
#include "app/python/fault.h"
#include "core/base/parallel.h"
#include "core/base/text.h"
#include "core/quant/encode/float_values.h"

#include <algorithm>
#include <fmt/format.h>
#include <pybind11/stl.h>

namespace qs::python {
namespace {

/// The type of elements in NumPy.
struct TypeRow {
    DType dtype;
    const char* name;
    bool isExtra; ///< of ml_dtypes
};
constexpr TypeRow kTypes[] = {
    {DType::Bool, "bool", false},
    {DType::U8, "uint8", false},
    {DType::I8, "int8", false},
    {DType::F8_E5M2, "float8_e5m2", true},
    {DType::F8_E4M3, "float8_e4m3fn", true},
    {DType::F8_E8M0, "float8_e8m0fnu", true},
    {DType::F8_E4M3FNUZ, "float8_e4m3fnuz", true},
    {DType::F8_E5M2FNUZ, "float8_e5m2fnuz", true},
    {DType::I16, "int16", false},
    {DType::U16, "uint16", false},
    {DType::F16, "float16", false},
    {DType::BF16, "bfloat16", true},
    {DType::I32, "int32", false},
    {DType::U32, "uint32", false},
    {DType::F32, "float32", false},
    {DType::C64, "complex64", false},
    {DType::F64, "float64", false},
    {DType::I64, "int64", false},
    {DType::U64, "uint64", false},
};

const TypeRow* rowOf(DType dtype) {
    for (const TypeRow& row : kTypes)
        if (row.dtype == dtype) return &row;
    return nullptr;
}

/// Memory of C++ that Python reads, and what keeps it alive.
struct Memory {
    const void* data = nullptr;
    std::size_t bytes = 0;
    std::shared_ptr<const void> owner;
    Access access = Access::Read;
};

/// An array of NumPy. Its bytes are used as they are, unless their order is another.
std::unique_ptr<ArrayTensor> tensorOfNumpy(py::object object, const std::string& name) {
    const std::string byteOrder = object.attr("dtype").attr("byteorder").cast<std::string>();
    if (byteOrder == ">") object = object.attr("astype")(object.attr("dtype").attr("newbyteorder")("="));
    object = py::module_::import("numpy").attr("asarray")(object, py::arg("order") = "C");
    const std::string type = object.attr("dtype").attr("name").cast<std::string>();
    const auto* row = std::ranges::find_if(kTypes, [&](const TypeRow& r) { return type == r.name; });
    if (row == std::end(kTypes))
        throw Fault(Error{fmt::format("the array has elements of type {}, which are none that a file can hold",
                                      escapeForPeople(type, 40)),
                          {}});
    auto out = std::make_unique<ArrayTensor>();
    out->info.name = name, out->info.dtype = row->dtype;
    out->info.shape = object.attr("shape").cast<std::vector<std::int64_t>>();
    out->info.elements = object.attr("size").cast<std::uint64_t>();
    out->info.bytes = object.attr("nbytes").cast<std::uint64_t>();
    const auto address = object.attr("__array_interface__")["data"].cast<py::tuple>()[0].cast<std::uintptr_t>();
    out->bytes = {reinterpret_cast<const std::byte*>(address), std::size_t(out->info.bytes)};
    out->owner = object;
    return out;
}

std::unique_ptr<ArrayTensor> tensorOfModel(const LazyTensor& lazy, const std::string& name) {
    const TensorView view = take(lazy.model->view(*lazy.info));
    auto out = std::make_unique<ArrayTensor>();
    out->info = *lazy.info, out->bytes = view.bytes, out->file = view.file, out->model = lazy.model;
    if (!name.empty()) out->info.name = name;
    return out;
}

/// F8_E8M0, which no spec takes, as f32.
void decodeBytes(ArrayTensor& tensor) {
    if (info(tensor.info.dtype).quantizable || tensor.info.packed || !hasFloats(tensor.info)) return;
    tensor.decoded.resize(tensor.info.elements);
    loadFloats(tensor.view(), 0, tensor.decoded.size(), tensor.decoded.data());
    tensor.info.dtype = DType::F32, tensor.info.bytes = tensor.info.elements * sizeof(float);
    tensor.info.derived = nullptr, tensor.file = nullptr;
    tensor.bytes = std::as_bytes(std::span(tensor.decoded));
}

std::unique_ptr<ArrayTensor> anyTensor(const py::object& array, const std::string& name) {
    if (py::isinstance<LazyTensor>(array)) return tensorOfModel(array.cast<LazyTensor>(), name);
    const py::module_ numpy = py::module_::import("numpy");
    if (py::isinstance(array, numpy.attr("ndarray"))) return tensorOfNumpy(array, name);
    if (py::hasattr(array, "__dlpack__")) return tensorOfDlpack(array, name);
    return tensorOfNumpy(numpy.attr("asarray")(array), name);
}

} // namespace

py::object numpyType(const char* name) { return py::module_::import("numpy").attr("dtype")(name); }

py::object numpyType(const TensorInfo& tensor) {
    const TypeRow* row = rowOf(tensor.dtype);
    const std::string place = fmt::format("tensor '{}' is {}", escapeForPeople(tensor.name, 160), tensor.typeId());
    if (!row)
        throw Fault(Error{place + ": NumPy has no array of elements of less than a byte; .raw() gives its bytes", {}});
    if (!row->isExtra) return numpyType(row->name);
    try {
        return py::module_::import("numpy").attr("dtype")(py::module_::import("ml_dtypes").attr(row->name));
    } catch (const py::error_already_set& error) {
        if (!error.matches(PyExc_ImportError) && !error.matches(PyExc_AttributeError)) throw;
        throw Fault(Error{place + ", which NumPy lacks: install ml_dtypes, or use .float32()", {}});
    }
}

py::object arrayOver(const py::object& type, const std::vector<std::int64_t>& shape, const void* data,
                     std::size_t bytes, std::shared_ptr<const void> owner, Access access) {
    const py::object memory = py::cast(Memory{data, bytes, std::move(owner), access});
    return py::module_::import("numpy").attr("ndarray")(py::tuple(py::cast(shape)), type, memory);
}

void bindArrays(py::module_& module) {
    py::class_<Memory>(module, "Memory", py::buffer_protocol()).def_buffer([](Memory& memory) {
        static char nothing = 0; // an empty array has an address too
        void* data = memory.bytes ? const_cast<void*>(memory.data) : &nothing;
        return py::buffer_info(data, 1, py::format_descriptor<std::uint8_t>::format(), 1, {py::ssize_t(memory.bytes)},
                               {py::ssize_t(1)}, memory.access == Access::Read);
    });
}

std::unique_ptr<ArrayTensor> tensorOf(const py::object& array, const std::string& name) {
    auto tensor = anyTensor(array, name);
    decodeBytes(*tensor);
    return tensor;
}

std::vector<float> floatsOf(const TensorView& view, const Job& job) {
    if (!hasFloats(*view.info))
        throw Fault(Error{fmt::format("tensor '{}' is {}: only floats have values in f32",
                                      escapeForPeople(view.info->name, 160), view.info->typeId()),
                          {}});
    std::vector<float> out(view.info->elements);
    constexpr std::size_t kGrain = std::size_t(1) << 18;
    parallelFor(out.size(), kGrain, [&](std::size_t begin, std::size_t end, unsigned) {
        if (!job.cancelled()) loadFloats(view, begin, end - begin, out.data() + begin);
    });
    if (job.cancelled()) throw Fault(cancelledError().value());
    return out;
}

} // namespace qs::python
