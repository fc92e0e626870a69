// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "plugins/abi/quantscope_backend.h"

/// Our own kernels, linked in and called through the same table as every other backend. Options: threads=N.
const qs_backend* quantscope_cpu_backend();
