// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/common/operands.h"

namespace qs::plugin {
namespace {

void check(const qs_tensor* tensor, const char* role, const char* dtype, std::uint64_t bytes) {
    const std::string name = std::string("tensor \"") + role + '"';
    if (!tensor) throw Refusal(QS_INVALID_ARGUMENT, name + " is missing");
    if (!is(tensor->dtype, dtype))
        throw Refusal(QS_INVALID_ARGUMENT,
                      name + " has dtype " + (tensor->dtype ? tensor->dtype : "none") + ", wanted " + dtype);
    if (tensor->bytes != bytes)
        throw Refusal(QS_INVALID_ARGUMENT,
                      name + " has " + std::to_string(tensor->bytes) + " bytes, wanted " + std::to_string(bytes));
}

} // namespace

const void* input(const qs_tensor* const* in, std::uint32_t n, const char* role, const char* dtype,
                  std::uint64_t bytes) {
    const qs_tensor* tensor = qs_find(in, n, role);
    check(tensor, role, dtype, bytes);
    if (!tensor->data && bytes) throw Refusal(QS_INVALID_ARGUMENT, std::string("tensor \"") + role + "\" has no data");
    return tensor->data;
}

void* output(qs_tensor* const* outs, std::uint32_t n, const char* role, const char* dtype, std::uint64_t bytes) {
    const qs_tensor* tensor = qs_find(outs, n, role);
    check(tensor, role, dtype, bytes);
    if (!tensor->out && bytes) throw Refusal(QS_INVALID_ARGUMENT, std::string("tensor \"") + role + "\" has no room");
    return tensor->out;
}

std::uint32_t elementBytes(std::string_view dtype) {
    if (dtype == "f64") return 8;
    if (dtype == "f32" || dtype == "i32") return 4;
    if (dtype == "bf16" || dtype == "f16") return 2;
    if (dtype == "i8" || dtype == "u8" || dtype.starts_with("fp8_")) return 1;
    return 0;
}

} // namespace qs::plugin
