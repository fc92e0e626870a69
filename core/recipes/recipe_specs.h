// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Converts between the words of other programs' recipes and our specs.

#include "core/recipes/recipe_format.h"

namespace qs {

/// Sets the spec of a rule, or its problem if the text is not a valid spec.
void setSpec(RecipeRule& rule, const std::string& spec, const std::string& said);

/// The spec of an integer format with `bits` bits; "" if there is no such format. `group`: columns that share a scale;
/// 0: a scale per row; -1: a scale per tensor. `dialect` "" means the format's own.
std::string integerSpec(std::int64_t bits, std::int64_t group, bool isSymmetric, const std::string& dialect = {});

/// The facts of an integer spec that other programs can express.
struct IntegerFacts {
    int bits = 0;
    std::int64_t group = 0; ///< columns that share a scale; 0: a scale per row; -1: a scale per tensor
    bool isSymmetric = true;
    double clip = 1; ///< CLIP in calib=absmax,CLIP
};
/// Error: the spec has another format, tiles, another calibration or sparsity. The error names `program` and offers
/// `works`, a spec that it can express.
Result<IntegerFacts> integerFacts(const QuantSpec& spec, const char* program, const std::string& works);
/// Error: the spec has keys that no other program's recipe can express.
Result<void> hasPlainKeys(const QuantSpec& spec, const char* program, const std::string& works);

/// True if two specs are equal, except for things that the program reading a recipe decides itself: the dialect, and
/// the float type of the scales.
bool saySame(const QuantSpec& a, const QuantSpec& b);

/// One rule for tensors whose names differ only in the number of the layer and that get the same spec; or for one
/// tensor.
struct LayerRule {
    LayeredName name;                     ///< name of the first tensor; `layer` is -1 if the rule is for all layers
    bool isLayered = false;               ///< true: the rule is for all layers that have such a tensor
    std::vector<const Assigned*> tensors; ///< never empty
    const std::optional<QuantSpec>& spec() const { return tensors.front()->spec; }
    /// "^NAME$"; `digits` is what matches the number of a layer, "\\d+".
    std::string regex(const char* digits) const;
};
/// The rules in the order of the tensors. Layers share a rule only if all layers get the same spec.
std::vector<LayerRule> layerRules(const Assignment& assignment);
/// The spec that most tensors get; null if no tensor gets one.
const QuantSpec* mostUsedSpec(const Assignment& assignment);

} // namespace qs
