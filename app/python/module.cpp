// SPDX-License-Identifier: GPL-3.0-or-later
// quantscope._core: what the Python files of quantscope/ call. Their documentation is that of users.
#include "app/python/arrays.h"
#include "app/python/commands.h"
#include "app/python/quantized.h"
#include "core/base/text.h"
#include "core/quant/codebook/user_formats.h"
#include "core/quant/spec/forced_isa.h"
#include "core/quant/spec/trained.h"
#include "core/report/report.h"

#include <pybind11/stl.h>

namespace qs::python {
namespace {

PyObject* errorType = nullptr; ///< quantscope.Error; lives as long as the process

void raise(const Error& error) {
    const py::object type = py::reinterpret_borrow<py::object>(errorType);
    const py::object raised = type(error.cancelled ? "cancelled" : oneSentence(error.sentence()));
    raised.attr("path") = error.path.empty() ? py::object(py::none()) : py::object(py::str(error.path));
    raised.attr("works") = py::cast(error.works);
    PyErr_SetObject(errorType, raised.ptr());
}

void bindError(py::module_& module) {
    errorType = PyErr_NewExceptionWithDoc(
        "quantscope.Error",
        "What a file or a request is at fault for, in the sentence that the command line prints.\n\n"
        "path: the file, or None. works: specs that would be taken instead, nearest first.",
        PyExc_ValueError, nullptr);
    module.attr("Error") = py::reinterpret_borrow<py::object>(errorType);
    py::register_exception_translator([](std::exception_ptr thrown) {
        try {
            if (thrown) std::rethrow_exception(thrown);
        } catch (const Fault& fault) {
            raise(fault.error);
        }
    });
}

/// Facts about every format: (id, title, summary, bits of a code).
std::vector<std::tuple<std::string, std::string, std::string, int>> formatRows() {
    std::vector<std::tuple<std::string, std::string, std::string, int>> out;
    for (const FormatTraits& format : formats()) out.emplace_back(format.id, format.title, format.summary, format.bits);
    return out;
}

} // namespace

PYBIND11_MODULE(_core, module) {
    py::options options;
    options.disable_function_signatures(); // the stubs have them, with types of Python
    bindError(module);
    // The user's own formats, as the command line loads them. Sentences about those that were refused.
    std::vector<std::string> problems = loadUserFormats();
    for (auto& problem : loadTrained(userFormatsFolder())) problems.push_back(std::move(problem));
    if (const char* problem = forcedIsaProblem()) problems.emplace_back(problem);
    module.attr("problems") = problems;
    module.attr("__version__") = toolVersion();
    module.def("format_rows", &formatRows);
    module.def("isa", &isaName);
    bindArrays(module);
    bindModel(module);
    bindQuantized(module);
    bindRows(module);
    bindAnalysis(module);
    bindNetworks(module);
    bindPlan(module);
    bindExports(module);
}

} // namespace qs::python
