// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Arrays of Python and tensors of core.

#include "app/python/model.h"

#include <pybind11/numpy.h>
#include <vector>

namespace qs::python {

/// The NumPy type of stored elements. Those that NumPy lacks come from ml_dtypes. Fault: it is not installed, or a type
/// of less than a byte. `tensor` names the place.
py::dtype numpyType(const TensorInfo& tensor);

/// An array over memory that `owner` keeps alive; nobody may write to it.
py::array arrayOver(const py::dtype& type, std::vector<std::int64_t> shape, const void* data, const py::object& owner);

/// An array that takes the values, without a copy.
template<class T> py::array arrayOf(std::vector<T> values, std::vector<std::int64_t> shape) {
    auto kept = std::make_unique<std::vector<T>>(std::move(values));
    const T* data = kept->data();
    const py::capsule owner(kept.release(), [](void* vector) { delete static_cast<std::vector<T>*>(vector); });
    return py::array_t<T>(std::move(shape), data, owner);
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

} // namespace qs::python
