// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/python/model.h"

#include "app/python/arrays.h"
#include "app/python/fault.h"
#include "core/base/text.h"
#include "core/layouts/serve.h"
#include "core/model/derived_tensor.h"
#include "core/model/gguf/packed_type.h"

#include <fmt/format.h>
#include <pybind11/stl.h>

namespace qs::python {

std::shared_ptr<OpenModel> OpenModel::open(const std::string& path, const std::string& convention) {
    return std::make_shared<OpenModel>(take(openModel(path, {.as = convention})));
}

std::shared_ptr<const Model> OpenModel::served(const Job& job) const {
    const std::lock_guard lock(mutex_);
    if (!served_) served_ = take(servedModel(opened_, job));
    return served_;
}

namespace {

py::tuple shapeOf(const TensorInfo& tensor) {
    py::tuple shape(tensor.shape.size());
    for (std::size_t axis = 0; axis < tensor.shape.size(); ++axis) shape[axis] = tensor.shape.sizes()[axis];
    return shape;
}

/// Reads it whole, where it is not mapped or is computed.
std::vector<std::byte> bytesOf(const LazyTensor& tensor, const TensorView& view) {
    return run(py::none(), [&](const Job&) {
        std::vector<std::byte> bytes(tensor.info->bytes);
        view.readInto(0, bytes);
        take(tensor.model->unchanged(*tensor.info));
        return bytes;
    });
}

/// An array over the mapped file, or over a copy of what was read.
py::object storedArray(const LazyTensor& tensor, const py::object& type, const std::vector<std::int64_t>& shape) {
    const TensorView view = take(tensor.model->view(*tensor.info));
    if (view.bytes.size() == tensor.info->bytes)
        return arrayOver(type, shape, view.bytes.data(), view.bytes.size(), tensor.model);
    return arrayOf(type, bytesOf(tensor, view), shape, Access::Read);
}

py::object float32(const LazyTensor& tensor, const py::object& progress) {
    const TensorView view = take(tensor.model->view(*tensor.info));
    auto values = run(progress, [&](const Job& job) {
        auto read = floatsOf(view, job);
        take(tensor.model->unchanged(*tensor.info));
        return read;
    });
    return arrayOf(numpyType("float32"), std::move(values), tensor.info->shape);
}

py::object numpy(const LazyTensor& tensor) {
    if (tensor.info->packed && tensor.info->packed->decode) return float32(tensor, py::none());
    return storedArray(tensor, numpyType(*tensor.info), tensor.info->shape);
}

py::object raw(const LazyTensor& tensor) {
    return storedArray(tensor, numpyType("uint8"), {std::int64_t(tensor.info->bytes)});
}

LazyTensor tensorNamed(const OpenModel& model, const std::string& name) {
    const TensorInfo* info = model.opened()->find(name);
    if (!info)
        throw py::key_error(fmt::format("There is no tensor '{}' in {}.", escapeForPeople(name, 160),
                                        escapeForPeople(model.opened()->path, 160)));
    return {model.opened(), info};
}

std::string textOf(const LazyTensor& tensor) {
    return fmt::format("<quantscope.Tensor '{}' {} {}>", escapeForPeople(tensor.info->name, 160), tensor.info->typeId(),
                       shapeText(tensor.info->shape));
}

void bindTensor(py::module_& module) {
    py::class_<LazyTensor>(module, "Tensor", "A tensor of a model. Its values are read when they are asked for.")
        .def_property_readonly("name", [](const LazyTensor& t) { return t.info->name.text(); })
        .def_property_readonly(
            "dtype", [](const LazyTensor& t) { return std::string(t.info->typeId()); },
            "The stored type as its file names it: \"BF16\", \"Q4_K\", \"bnb-nf4\".")
        .def_property_readonly("shape", [](const LazyTensor& t) { return shapeOf(*t.info); })
        .def_property_readonly(
            "elements", [](const LazyTensor& t) { return t.info->elements; }, "Number of values.")
        .def_property_readonly(
            "bytes", [](const LazyTensor& t) { return storedBytes(*t.info); }, "Size in the file, in bytes.")
        .def("numpy", &numpy,
             "The values as a NumPy array of `shape`, in their stored type. Where the file is mapped it is a view of "
             "the file,\n"
             "without a copy, that keeps the file open and cannot be written to; else a copy. bf16 and floats of 8 "
             "bits\n"
             "need ml_dtypes. Packed blocks (GGUF) are decoded to f32.")
        .def("float32", &float32, py::kw_only(), py::arg("progress") = py::none(),
             "The values as an f32 array of `shape`, a copy. Exact for f16, bf16 and floats of 8 bits; f64 is rounded "
             "once.")
        .def("raw", &raw, "The stored bytes as a uint8 array [bytes], without a copy where the file is mapped.")
        .def("__array__",
             [](const LazyTensor& t, const py::args& args, const py::kwargs& kwargs) {
                 py::object array = numpy(t);
                 if (!args.empty() && !args[0].is_none()) array = array.attr("astype")(args[0]);
                 if (kwargs.contains("dtype") && !kwargs["dtype"].is_none())
                     array = array.attr("astype")(kwargs["dtype"]);
                 const bool copies = kwargs.contains("copy") && py::bool_(kwargs["copy"]).cast<bool>();
                 return copies ? py::object(array.attr("copy")()) : array;
             })
        .def("__len__",
             [](const LazyTensor& t) {
                 if (t.info->shape.empty()) throw py::type_error("a scalar has no length");
                 return t.info->shape.sizes().front();
             })
        .def("__repr__", &textOf);
}

} // namespace

void bindModel(py::module_& module) {
    bindTensor(module);
    using Self = std::shared_ptr<OpenModel>;
    py::class_<OpenModel, Self>(module, "Model", "An opened checkpoint: a mapping from names to tensors.")
        .def_property_readonly("path", [](const OpenModel& m) { return m.opened()->path; })
        .def_property_readonly("format", [](const OpenModel& m) { return m.opened()->format; })
        .def_property_readonly("warnings", [](const OpenModel& m) { return m.opened()->warnings; })
        .def_property_readonly("tensors",
                               [](const OpenModel& m) {
                                   std::vector<LazyTensor> all;
                                   for (const TensorInfo& info : m.opened()->tensors)
                                       all.push_back({m.opened(), &info});
                                   return all;
                               })
        .def(
            "decoded", // a model of the decoded tensors
            [](const OpenModel& m, const py::object& progress) {
                return std::make_shared<OpenModel>(run(progress, [&](const Job& job) { return m.served(job); }));
            },
            py::kw_only(), py::arg("progress") = py::none(),
            "The model with tensors that `quantize` stored in fields (codes, scales) decoded; else the same model.")
        .def("keys",
             [](const OpenModel& m) {
                 std::vector<std::string> names;
                 for (const TensorInfo& info : m.opened()->tensors) names.push_back(info.name);
                 return names;
             })
        .def("__getitem__", &tensorNamed)
        .def("__contains__",
             [](const OpenModel& m, const std::string& name) { return m.opened()->find(name) != nullptr; })
        .def("__len__", [](const OpenModel& m) { return m.opened()->tensors.size(); })
        .def("__iter__", [](const py::object& self) { return py::iter(self.attr("keys")()); })
        .def("__repr__", [](const OpenModel& m) {
            return fmt::format("<quantscope.Model '{}' {}: {} tensors, {}>", escapeForPeople(m.opened()->path, 160),
                               m.opened()->format, m.opened()->tensors.size(), bytesText(m.opened()->totalBytes()));
        });
    module.def(
        "open_model",
        [](const std::string& path, const py::object& progress, const std::string& convention) {
            return run(progress, [&](const Job&) { return OpenModel::open(path, convention); });
        },
        py::arg("path"), py::arg("progress") = py::none(), py::kw_only(), py::arg("convention") = "",
        "Opens a file, an index of shards, or a folder. `convention`: the id of a way of storing quantized layers, as "
        "--as of the command line.");
}

} // namespace qs::python
