// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Makes a Kernel from the host's tensors: checks, repacks, compiles and uploads. Each part is timed.

#include "plugins/pjrt/kernel.h"

#include <memory>

namespace qs::pjrt {

struct Prepared {
    Operands operands;
    std::unique_ptr<Kernel> kernel;
    double repackMs = 0, uploadMs = 0;
};

/// With a compile-only client nothing is uploaded. Throws Fault.
Prepared prepare(Client& client, const Operands& operands, const Variant& variant,
                 std::span<const qs_tensor* const> tensors);

/// The tensor with this role, or NULL.
const qs_tensor* findTensor(std::span<const qs_tensor* const> tensors, const char* role);
/// Both throw Fault unless the tensor has the type, the bytes and the number of elements of `spec`. Its shape may
/// differ.
void demandInput(const qs_tensor* tensor, const char* role, const ArraySpec& spec);
void demandOutput(const qs_tensor* tensor, const char* role, const ArraySpec& spec);
/// The element type for "f32" "bf16" "f16" "i8" "u8" "i32" "fp8_e4m3" "fp8_e5m2"; Invalid for other texts.
ElementType elementTypeOf(const char* dtype);

} // namespace qs::pjrt
