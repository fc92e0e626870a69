// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// From the host's tensors to a Kernel: checks them, repacks, compiles, uploads; each part timed.

#include "plugins/pjrt/kernel.h"

#include <memory>

namespace qs::pjrt {

struct Prepared {
    Operands operands;
    std::unique_ptr<Kernel> kernel;
    double repackMs = 0, uploadMs = 0;
};

/// Of a compile-only client nothing is uploaded. Throws Faults.
Prepared prepare(Client& client, const Operands& operands, const Variant& variant,
                 std::span<const qs_tensor* const> tensors);

/// The tensor of that role, or NULL.
const qs_tensor* findTensor(std::span<const qs_tensor* const> tensors, const char* role);
/// Its dims and bytes must be those of `spec` (dims may be cut differently as long as there are as many elements).
void demandInput(const qs_tensor* tensor, const char* role, const ArraySpec& spec);
void demandOutput(const qs_tensor* tensor, const char* role, const ArraySpec& spec);
/// "f32" "bf16" "f16" "i8" "u8" "i32" "fp8_e4m3" "fp8_e5m2"; Invalid for any other.
ElementType elementTypeOf(const char* dtype);

} // namespace qs::pjrt
