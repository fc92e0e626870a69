// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What all commands take, and the functions that bind them.

#include "app/python/fault.h"
#include "app/python/model.h"
#include "app/python/rows.h"
#include "core/quant/spec/spec.h"

namespace qs::python {

using Texts = std::vector<std::string>;

std::vector<QuantSpec> specsOf(const Texts& texts);
/// The path of a model and those of its files.
void addInputs(const Model& model, std::vector<std::string>& inputs);

void bindAnalysis(py::module_& module); ///< analyze, sweep, audit, diff, inspect
void bindNetworks(py::module_& module); ///< eval, sensitivity
void bindPlan(py::module_& module);
void bindExports(py::module_& module); ///< export, verify

} // namespace qs::python
