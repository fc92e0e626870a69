// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/kernel_set.h"

#include "kernels/simd/sets.h"

#include <array>
#include <cstdlib>
#include <string>

namespace qs {
namespace {

std::span<const KernelSet* const> compiledIn() {
#if defined(__x86_64__)
    static const std::array sets = {&scalarKernels(), &avx2Kernels(), &avx512Kernels()};
#else
    static const std::array sets = {&scalarKernels()};
#endif
    return sets;
}

/// The kernel set in use, and what is wrong with QS_FORCE_ISA; empty if nothing is.
struct Choice {
    const KernelSet* set = nullptr;
    std::string problem;
};

Choice choose() {
    Choice choice;
    for (const KernelSet* set : compiledIn())
        if (set->supported()) choice.set = set;
    const char* forced = std::getenv("QS_FORCE_ISA");
    if (!forced || !*forced) return choice;
    std::string known;
    for (const KernelSet* set : compiledIn()) {
        if (std::string_view(forced) == set->id) {
            if (set->supported())
                choice.set = set;
            else
                choice.problem = "QS_FORCE_ISA asks for " + std::string(set->id) + ", which this processor lacks";
            return choice;
        }
        known += (known.empty() ? "" : ", ") + std::string(set->id);
    }
    choice.problem = "QS_FORCE_ISA names an unknown instruction set; known are " + known;
    return choice;
}

const Choice& choice() {
    static const Choice chosen = choose();
    return chosen;
}

} // namespace

std::span<const KernelSet* const> kernelSets() { return compiledIn(); }
const KernelSet& bestKernels() { return *choice().set; }
const char* forcedIsaProblem() { return choice().problem.empty() ? nullptr : choice().problem.c_str(); }

} // namespace qs
