// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Errors of core as exceptions of Python: quantscope.Error, with the sentence that the command line prints. Exceptions
// are the language's own way, so this folder throws; nothing else does.

#include "core/base/result.h"

#include <exception>

namespace qs::python {

/// An error on its way to Python.
struct Fault : std::exception {
    explicit Fault(Error what) : error(std::move(what)) {}
    const char* what() const noexcept override { return error.message.c_str(); }
    Error error;
};

/// The value of a result, or a Fault.
template<class T> T take(Result<T> result) {
    if (!result) throw Fault(std::move(result.error()));
    if constexpr (!std::is_void_v<T>) return std::move(*result);
}

} // namespace qs::python
