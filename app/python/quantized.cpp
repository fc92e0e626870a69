// SPDX-License-Identifier: GPL-3.0-or-later
// quantize() and what it returns.
#include "app/python/quantized.h"

#include "app/python/arrays.h"
#include "app/python/fault.h"
#include "core/base/text.h"
#include "core/layouts/stored.h"
#include "core/quant/encode/block_encoder.h"
#include "core/quant/encode/quantizer.h"
#include "core/quant/spec/code_set.h"

#include <fmt/format.h>
#include <pybind11/stl.h>

namespace qs::python {
namespace {

/// A quantized tensor, with what its source says of its size.
struct Quantized {
    QuantizedTensor tensor;
    StoredSize size;
    std::uint64_t elements = 0;

    double bpw() const { return bitsPerWeight(size, elements); }
};

std::shared_ptr<Quantized> quantize(const py::object& array, const std::string& text, const std::string& name,
                                    const py::object& progress) {
    const QuantSpec spec = take(parseSpec(text));
    const auto source = tensorOf(array, name);
    return run(progress, [&](const Job& job) {
        auto out = std::make_shared<Quantized>();
        out->tensor = take(quantizeTensor(source->view(), spec, job));
        out->size = take(storedSize(spec, source->info));
        out->elements = source->info.elements;
        if (source->model) take(source->model->unchanged(source->info));
        return out;
    });
}

using Self = std::shared_ptr<Quantized>;

template<class T>
py::object viewOf(const Self& self, const char* type, const std::vector<T>& values,
                  const std::vector<std::int64_t>& shape) {
    return arrayOver(numpyType(type), shape, values.data(), values.size() * sizeof(T), self);
}

py::object codesOf(const Self& self) {
    const QuantizedTensor& q = self->tensor;
    if (q.spec.traits().kind == FormatKind::Identity) return py::none();
    if (codecOf(q.spec)) return viewOf(self, "uint8", q.blocks, nativeShape(q.spec, q.shape));
    return viewOf(self, "uint8", q.codes, q.shape);
}

py::object scalesOf(const Self& self) {
    const QuantizedTensor& q = self->tensor;
    if (q.grid.kind == ScaleKind::None || codecOf(q.spec)) return py::none();
    return viewOf(self, "float32", q.scales, q.grid.scaleShape);
}

py::object zerosOf(const Self& self, bool (*has)(const QuantSpec&)) {
    const QuantizedTensor& q = self->tensor;
    return has(q.spec) ? viewOf(self, "float32", q.zeros, q.grid.scaleShape) : py::none();
}

py::object levelsOf(const Self& self) {
    const QuantizedTensor& q = self->tensor;
    if (codecOf(q.spec)) return py::none();
    if (!q.levels.empty()) return viewOf(self, "float32", q.levels, {std::int64_t(q.levels.size())});
    const auto levels = codeSetOf(q.spec).levels;
    if (levels.empty()) return py::none();
    return arrayOf(numpyType("float32"), std::vector<float>(levels.begin(), levels.end()),
                   {std::int64_t(levels.size())}, Access::Read);
}

py::object dequantize(const Quantized& self, const py::object& progress) {
    auto values = run(progress, [&](const Job&) { return materialize(self.tensor); });
    return arrayOf(numpyType("float32"), std::move(values), self.tensor.shape);
}

std::string reprOf(const Quantized& q) {
    return fmt::format("<quantscope.Quantized {} {}: {:.4f} bits per weight>", specText(q.tensor.spec),
                       shapeText(q.tensor.shape), q.bpw());
}

} // namespace

void bindQuantized(py::module_& module) {
    py::class_<Quantized, std::shared_ptr<Quantized>>(module, "Quantized", "A quantized tensor in memory.")
        .def_property_readonly("spec", [](const Quantized& q) { return specText(q.tensor.spec); })
        .def_property_readonly("spec_full", [](const Quantized& q) { return canonicalText(q.tensor.spec); })
        .def_property_readonly("shape", [](const Quantized& q) { return py::tuple(py::cast(q.tensor.shape)); })
        .def_property_readonly("dtype", [](const Quantized& q) { return std::string(info(q.tensor.sourceDtype).id); })
        .def_property_readonly(
            "codes", &codesOf,
            "uint8 array of `shape`: an index into `levels` for each value. Of the block formats of ggml the\n"
            "packed blocks, [..., bytes of a row]. None for f32, f16 and bf16, which have no codes.")
        .def_property_readonly(
            "scales", &scalesOf,
            "f32 array: [] for one scale, an axis of size 1 where an axis shares it, [..., blocks of a row].\n"
            "None where there are none, or where they lie in the blocks.")
        .def_property_readonly(
            "zero_points", [](const Self& self) { return zerosOf(self, hasZeroPoints); },
            "f32 array as `scales`: value = (level - zero point) x scale. None without sym=no.")
        .def_property_readonly(
            "biases", [](const Self& self) { return zerosOf(self, hasBiases); },
            "f32 array as `scales`: value = level x scale + bias (MLX). None elsewhere.")
        .def_property_readonly(
            "levels", &levelsOf,
            "f32 array [levels], ascending: what codes stand for, before scaling. None without codes.")
        .def_property_readonly(
            "bytes", [](const Quantized& q) { return q.size.total(); },
            "Bytes in the default layout: codes, scales, padding and a learned codebook.")
        .def_property_readonly("bpw", &Quantized::bpw, "Bits per weight: 8 x bytes / number of values.")
        .def_property_readonly("warnings", [](const Quantized& q) { return q.tensor.warnings; })
        .def("dequantize", &dequantize, py::kw_only(), py::arg("progress") = py::none(),
             "The decoded values: f32 array of `shape`.")
        .def("__repr__", &reprOf);
    module.def("quantize", &quantize, py::arg("array"), py::arg("spec"), py::arg("name") = "",
               py::arg("progress") = py::none());
}

} // namespace qs::python
