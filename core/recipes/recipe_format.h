// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The registry of recipe formats: files in which other programs say which tensor gets which quantization. A row is a
// file in formats/. It says how names are spelled, how rules match them and which rule wins; it reads and writes the
// files.

#include "core/export/recipe.h"
#include "core/recipes/names.h"
#include "core/recipes/recipe_source.h"

namespace qs {

/// How the pattern of a rule is compared with a name.
enum class Matching {
    Search, ///< a regular expression that matches any part of the name
    Full,   ///< a regular expression that matches the whole name
    Prefix, ///< a regular expression that matches the beginning of the name
    Glob,   ///< `*`, `?` and `[...]`; it matches the whole name
    Exact,  ///< the name itself
    Within, ///< a regular expression that matches whole modules of the name, or any end of the name
    Linear, ///< no pattern: every matrix of a linear layer
};
const char* matchingText(Matching matching);

/// Which rule decides if several match a name.
enum class Wins { First, Last };

struct RecipeRule {
    std::string pattern; ///< the text in the file
    Matching how = Matching::Search;
    std::optional<QuantSpec> spec; ///< empty: the tensor stays as it is
    int rank = 0;                  ///< a rule with a smaller rank wins; the order counts only for equal ranks
    std::uint32_t tiles = 0;       ///< number of blocks in a row; 0: the spec gives the size of a block
    std::string problem = {};      ///< what the rule asks for, if no spec can say it; no full stop at the end
    bool decides = true;           ///< false: the rule is not about weights
};

struct RecipeFormat;

/// A recipe as it stands in a file of another program.
struct ForeignRecipe {
    const RecipeFormat* format = nullptr;
    std::vector<RecipeRule> rules = {}; ///< in the order of the file
    std::optional<QuantSpec> rest =
        std::nullopt;                      ///< spec of tensors that no rule matches; empty: they stay as they are
    std::string restProblem = {};          ///< RecipeRule::problem for these tensors
    std::string restText = {};             ///< for people: what decides for these tensors, e.g. "__default__"
    std::vector<std::string> remarks = {}; ///< sentences on parts of the file that are not about weights
};

/// A tensor to write a rule for.
struct Assigned {
    std::string tensor; ///< its name in the model
    std::string name;   ///< its name in the name space of the format
    const TensorInfo* info = nullptr;
    std::optional<QuantSpec> spec; ///< empty: it stays as it is
};
/// All that a recipe to write must say.
struct Assignment {
    const Model* model = nullptr;
    std::vector<Assigned> tensors; ///< the tensors for which the format has a name
    bool knowsShapes = true;       ///< false: there is no real model, only the names in a recipe
};
struct WrittenRecipe {
    std::string text;
    std::vector<std::string> remarks = {}; ///< sentences: what people must do in addition
};

struct RecipeFormat {
    const char* id;
    const char* title;
    const char* summary;  ///< what the file is, and who reads it
    const char* matching; ///< for people: "re.fullmatch of Flax paths; the last rule wins"
    NameSpace names;
    Wins wins;
    const char* ending; ///< how names of such files end: ".json"
    bool (*recognises)(const RecipeSource& source);
    Result<ForeignRecipe> (*read)(const RecipeSource& source);
    /// Error: the format cannot say something. The error offers what would work.
    Result<WrittenRecipe> (*write)(const Assignment& assignment);
    /// The spec that the program uses in place of `spec` for this shape; sets `why`. Null: the shape never matters.
    QuantSpec (*forShape)(const QuantSpec& spec, const TensorInfo& tensor, std::string& why) = nullptr;
    /// Fails with the reason for tensors that the program never quantizes. Null: it quantizes all matrices.
    Result<void> (*takes)(const TensorInfo& tensor, const std::string& name) = nullptr;
};
std::span<const RecipeFormat* const> recipeFormats();
const RecipeFormat* findRecipeFormat(std::string_view id);

/// Reads a file in any of the formats, at most `kMostRecipe` bytes. Errors name the path.
Result<ForeignRecipe> readForeignRecipe(const std::string& path);
Result<ForeignRecipe> parseForeignRecipe(std::string text, const std::string& path);

/// The rows.
extern const RecipeFormat kOwnRecipes, kMaxTextRecipes, kQwixRecipes, kLlamaRecipes, kThireusRecipes,
    kCompressedTensorsRecipes, kBitsandbytesRecipes, kModelOptRecipes, kHfQuantConfigRecipes, kAutoRoundRecipes;

} // namespace qs
