// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Arrays of Python and tensors of core.

#include "app/python/model.h"

#include <vector>

namespace qs::python {

// Arrays are made and read through NumPy's own Python interface, so that one build serves NumPy 1 and 2.

/// The NumPy type of stored elements. Those that NumPy lacks come from ml_dtypes. Fault: it is not installed, or a type
/// of less than a byte.
py::object numpyType(const TensorInfo& tensor);
/// The type of this name: "uint8".
py::object numpyType(const char* name);

enum class Access { Read, Write };
/// An array over memory that `owner` keeps alive.
py::object arrayOver(const py::object& type, const std::vector<std::int64_t>& shape, const void* data,
                     std::size_t bytes, std::shared_ptr<const void> owner, Access access = Access::Read);

/// An array that takes the values, without a copy.
template<class T>
py::object arrayOf(const py::object& type, std::vector<T> values, const std::vector<std::int64_t>& shape,
                   Access access = Access::Write) {
    const auto kept = std::make_shared<const std::vector<T>>(std::move(values));
    return arrayOver(type, shape, kept->data(), kept->size() * sizeof(T), kept, access);
}

/// The elements of an array, in memory as core reads them. Floats of 8 bits are decoded to F32, which is exact.
struct ArrayTensor {
    TensorInfo info;
    std::span<const std::byte> bytes; ///< C order
    std::shared_ptr<MappedFile> file; ///< of a tensor of a model
    TensorView view() const { return {&info, bytes, file}; }

    py::object owner;                   ///< keeps `bytes` alive
    std::shared_ptr<const Model> model; ///< the same for a tensor of a model
    std::vector<std::byte> copy;        ///< of an array that is not in C order
    std::vector<float> decoded;
};
/// Of a tensor of a model, or of anything with __dlpack__ in memory of the CPU, an array of NumPy, or a buffer. `name`: for
/// messages.
std::unique_ptr<ArrayTensor> tensorOf(const py::object& array, const std::string& name);

/// All values as f32. Fault: it has none.
std::vector<float> floatsOf(const TensorView& view, const Job& job);

void bindArrays(py::module_& module);

} // namespace qs::python
