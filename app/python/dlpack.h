// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Reads arrays of other libraries through DLPack, whose bf16 NumPy does not take.

#include "app/python/arrays.h"

namespace qs::python {

/// The array of an object with __dlpack__. Fault: it is not in memory of the CPU, or of no type that core knows.
std::unique_ptr<ArrayTensor> tensorOfDlpack(const py::object& array, const std::string& name);

} // namespace qs::python
