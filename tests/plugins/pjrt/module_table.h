// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Loads the module as a host does.

#include "plugins/abi/quantscope_backend.h"

#include <dlfcn.h>
#include <string>
#include <vector>

namespace qs::test {

inline const qs_backend* pjrtTable() {
    static const qs_backend* table = [] {
        void* library = dlopen(QS_PJRT_MODULE, RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) return static_cast<const qs_backend*>(nullptr);
        const auto query = reinterpret_cast<quantscope_backend_query_fn>(dlsym(library, "quantscope_backend_query"));
        return query == nullptr ? nullptr : query(QS_ABI_MAJOR, QS_ABI_MINOR);
    }();
    return table;
}

template<class T> T sized() {
    T value{};
    value.struct_size = sizeof(T);
    return value;
}

} // namespace qs::test
