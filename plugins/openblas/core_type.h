// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Which core OpenBLAS computes with: what is wanted, and what a library makes of it.

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace qs::openblas {

inline constexpr const char* kCoreVariable = "OPENBLAS_CORETYPE";

/// Which core type to load with, and who says so.
struct CoreType {
    std::vector<std::string> names; ///< best first; empty: OpenBLAS detects it
    std::string origin;             ///< "option", "features of the processor", "environment", "OpenBLAS itself"
    std::string wanted() const { return names.empty() ? std::string() : names.front(); }
};
/// `wanted`: the option, "default" or a name, or nullptr. The features count before the environment, whose variable is
/// often set for the sake of equal digits on unequal machines: a baseline must not be slowed by what nobody set for
/// it.
CoreType chooseCoreType(const char* wanted);

bool sameCore(const std::string& a, const std::string& b); ///< "SKYLAKEX" is "SkylakeX"

/// Names are tried in order until no later one can do better; returns the number of the last one tried. `load` loads
/// the library with a name and returns the core that the library took. A library that does not know a name takes what
/// it likes: the best core it has, or one of a processor of 2004.
std::size_t loadBestCore(const std::vector<std::string>& names,
                         const std::function<std::string(const std::string& name)>& load);

/// For people: "Cooperlake, SAPPHIRERAPIDS wanted (features of the processor)".
std::string coreText(const CoreType& type, const std::string& taken);

} // namespace qs::openblas
