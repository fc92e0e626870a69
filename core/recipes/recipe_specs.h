// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Between the words of recipes and our specs.

#include "core/recipes/recipe_format.h"

namespace qs {

/// Sets the spec of a rule, or its problem where the text is no spec that can be.
void setSpec(RecipeRule& rule, const std::string& spec, const std::string& said);

/// Integers of `bits` bits with a scale per row (group 0), per group of columns, or per tensor (group -1), in a dialect
/// ("": the format's own). "" where no format has so many bits.
std::string integerSpec(std::int64_t bits, std::int64_t group, bool isSymmetric, const std::string& dialect = {});

/// What a spec of integers says that programs have words for.
struct IntegerFacts {
    int bits = 0;
    std::int64_t group = 0; ///< columns; 0: a scale per row; -1: per tensor
    bool isSymmetric = true;
    double clip = 1; ///< of calib=absmax,CLIP
};
/// Error: another format, tiles, another calibration, sparsity; `program` is named, `works` is what it can say.
Result<IntegerFacts> integerFacts(const QuantSpec& spec, const char* program, const std::string& works);
/// Error: keys that no other program's recipe has a word for.
Result<void> hasPlainKeys(const QuantSpec& spec, const char* program, const std::string& works);

/// Whether two specs differ at most in what the program that reads a recipe decides by itself: its dialect, and which
/// float its scales are stored as.
bool saySame(const QuantSpec& a, const QuantSpec& b);

/// Tensors whose names differ in the number of their layer alone and that get the same, or a tensor by itself.
struct LayerRule {
    LayeredName name;                     ///< of the first; `layer` is -1 where the rule is for all its layers
    bool isLayered = false;               ///< for all layers that have such a tensor
    std::vector<const Assigned*> tensors; ///< never empty
    const std::optional<QuantSpec>& spec() const { return tensors.front()->spec; }
};
/// In the order of the tensors. Several layers are one rule only where every layer gets the same.
std::vector<LayerRule> layerRules(const Assignment& assignment);
/// The spec that most tensors get; null if no tensor gets one.
const QuantSpec* mostUsedSpec(const Assignment& assignment);

} // namespace qs
