// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Chooses the core type, which is the set of kernels that OpenBLAS computes with. The library may take another one than
// it was asked for.

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace qs::openblas {

inline constexpr const char* kCoreVariable = "OPENBLAS_CORETYPE";

/// The core types to ask for, and the reason for this choice.
struct CoreType {
    std::vector<std::string> names; ///< best first; empty: OpenBLAS detects it
    std::string origin;             ///< "option", "features of the processor", "environment", "OpenBLAS itself"
    std::string wanted() const { return names.empty() ? std::string() : names.front(); }
};
/// `wanted` is the option coretype: "default", a name, or null. Without it the features of the processor decide. They
/// come before the environment variable, which is often set to get equal digits on different machines. It would then
/// make the baseline slow.
CoreType chooseCoreType(const char* wanted);

bool sameCore(const std::string& a, const std::string& b); ///< ignores case: "SKYLAKEX" equals "SkylakeX"

/// Tries the names in order until no later name can be better. Returns the index of the last name that was tried.
/// load(name) loads the library with a name and returns the core type that the library took. A library that does not
/// know the name takes its best core type or, if it is old, a very slow one.
std::size_t loadBestCore(const std::vector<std::string>& names,
                         const std::function<std::string(const std::string& name)>& load);

/// A text for people: "Cooperlake, SAPPHIRERAPIDS wanted (features of the processor)".
std::string coreText(const CoreType& type, const std::string& taken);

} // namespace qs::openblas
