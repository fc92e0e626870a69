// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/openblas/core_type.h"

#include "kernels/cpu_features.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <strings.h>

namespace qs::openblas {

CoreType chooseCoreType(const char* wanted) {
    if (wanted && std::string_view(wanted) == "default") return {{}, "OpenBLAS itself"};
    if (wanted && *wanted) return {{wanted}, "option"};
    const char* set = std::getenv(kCoreVariable);
    const bool isSet = set && *set;
    if (const auto cores = openblasCores(cpuFeatures()); !cores.empty()) {
        const bool over = isSet && !sameCore(set, cores.front());
        return {{cores.begin(), cores.end()},
                "features of the processor" + (over ? std::string(", over ") + set + " of the environment" : "")};
    }
    if (isSet) return {{set}, "environment"};
    return {{}, "OpenBLAS itself"};
}

bool sameCore(const std::string& a, const std::string& b) { return ::strcasecmp(a.c_str(), b.c_str()) == 0; }

std::size_t loadBestCore(const std::vector<std::string>& names,
                         const std::function<std::string(const std::string& name)>& load) {
    for (std::size_t i = 0; i + 1 < names.size(); ++i) {
        const std::string taken = load(names[i]);
        const auto last = names.begin() + std::ptrdiff_t(i) + 2; // names[0 .. i + 1]: names[i + 1] cannot be better
        if (std::any_of(names.begin(), last, [&](const std::string& name) { return sameCore(name, taken); })) return i;
    }
    load(names.empty() ? std::string() : names.back());
    return names.empty() ? 0 : names.size() - 1;
}

std::string coreText(const CoreType& type, const std::string& taken) {
    const std::string wanted = type.wanted();
    const bool told = wanted.empty() || sameCore(wanted, taken);
    return taken + (told ? "" : ", " + wanted + " wanted") + " (" + type.origin + ")";
}

} // namespace qs::openblas
