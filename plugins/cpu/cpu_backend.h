// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "plugins/abi/quantscope_backend.h"

/// The table of the backend "cpu", which runs the kernels of this repository. It is linked into the worker, and called
/// like every other backend. Option: threads=N.
const qs_backend* quantscope_cpu_backend();
