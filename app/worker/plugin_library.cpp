// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/worker/plugin_library.h"

#include "core/base/text.h"
#ifdef QS_PLUGIN_CPU
#include "plugins/cpu/cpu_backend.h"
#endif

#include <dlfcn.h>

namespace qs::worker {

Outcome<const qs_backend*> loadTable(const std::string& backend) {
    const auto failed = [](RowState state, const std::string& reason) {
        return tl::unexpected(Failure{state, reason});
    };
    if (backend.find('/') == std::string::npos) {
#ifdef QS_PLUGIN_CPU
        if (const qs_backend* cpu = quantscope_cpu_backend(); backend == cpu->id) return cpu;
#endif
        return failed(RowState::NotBuilt, "this build has no '" + escapeForPeople(backend) + "' backend");
    }
    void* library = dlopen(backend.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char* why = dlerror();
        return failed(RowState::Unavailable,
                      "cannot be loaded: " + escapeForPeople(why ? why : "no reason given", 300));
    }
    const auto query = reinterpret_cast<quantscope_backend_query_fn>(dlsym(library, "quantscope_backend_query"));
    if (!query) return failed(RowState::Declined, "is not a backend: it does not export quantscope_backend_query");
    return query(QS_ABI_MAJOR, QS_ABI_MINOR);
}

} // namespace qs::worker
