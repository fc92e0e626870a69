// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Tensors that a call brings, with their sizes checked; a wrong one is refused by name.

#include "plugins/common/entry.h"

#include <cstdint>
#include <string>

namespace qs::plugin {

/// Bytes of an input of that role; throws Refusal when it is missing, of another dtype or of another size.
const void* input(const qs_tensor* const* in, std::uint32_t n, const char* role, const char* dtype,
                  std::uint64_t bytes);
/// Where an output of that role goes; throws likewise.
void* output(qs_tensor* const* outs, std::uint32_t n, const char* role, const char* dtype, std::uint64_t bytes);

/// 0 when unknown.
std::uint32_t elementBytes(std::string_view dtype);

} // namespace qs::plugin
