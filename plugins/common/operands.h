// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Finds the tensors of a call by role and checks them. The error names the tensor that is wrong.

#include "plugins/common/entry.h"

#include <cstdint>
#include <string>

namespace qs::plugin {

/// The data of the input with this role. Throws Refusal if it is missing or has another dtype or size.
const void* input(const qs_tensor* const* in, std::uint32_t n, const char* role, const char* dtype,
                  std::uint64_t bytes);
/// The memory for the output with this role. Throws Refusal in the same cases.
void* output(qs_tensor* const* outs, std::uint32_t n, const char* role, const char* dtype, std::uint64_t bytes);

/// Bytes of one element; 0 if the dtype is not known.
std::uint32_t elementBytes(std::string_view dtype);

} // namespace qs::plugin
