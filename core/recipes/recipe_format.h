// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The registry of recipe formats: how other programs write down which tensor gets which quantization. A row is a file in
// formats/. It says how names are spelled, how rules meet them, which rule wins, and reads and writes the files.

#include "core/export/recipe.h"
#include "core/recipes/names.h"
#include "core/recipes/recipe_source.h"

namespace qs {

/// How the pattern of a rule meets a name.
enum class Matching {
    Search, ///< a regular expression, anywhere in the name
    Full,   ///< a regular expression for the whole name
    Prefix, ///< a regular expression from the begin of the name on
    Glob,   ///< `*`, `?` and `[...]` for the whole name
    Exact,  ///< the name itself
    Within, ///< a regular expression from the begin to the end of a module, or any end of the name
    Linear, ///< every matrix of a linear layer, whatever its name
};
const char* matchingText(Matching matching);

/// Which of several rules that match a name decides.
enum class Wins { First, Last };

struct RecipeRule {
    std::string pattern; ///< as in the file
    Matching how = Matching::Search;
    std::optional<QuantSpec> spec; ///< none: the tensor stays as it is
    int rank = 0;                  ///< rules of a smaller rank win, whatever their order
    std::uint32_t tiles = 0;       ///< blocks in a row, in the place of their size; 0: the spec says the size
    std::string problem = {};      ///< what the rule asks for and no spec says: a sentence without its full stop
    bool decides = true;           ///< false: it is about something else than weights
};

struct RecipeFormat;

/// A recipe as its file says it.
struct ForeignRecipe {
    const RecipeFormat* format = nullptr;
    std::vector<RecipeRule> rules = {};           ///< in the order of the file
    std::optional<QuantSpec> rest = std::nullopt; ///< of what no rule matches; none: it stays as it is
    std::string restProblem = {};                 ///< as RecipeRule::problem
    std::string restText = {};                    ///< what decides where no rule matches, for people: "__default__"
    std::vector<std::string> remarks = {};        ///< what the file says that is not about weights; sentences
};

/// A tensor to write a rule for.
struct Assigned {
    std::string tensor; ///< its name in the model
    std::string name;   ///< in the name space of the format
    const TensorInfo* info = nullptr;
    std::optional<QuantSpec> spec; ///< none: it stays as it is
};
/// What a written recipe has to say.
struct Assignment {
    const Model* model = nullptr;
    std::vector<Assigned> tensors; ///< that the format has a name for
    bool knowsShapes = true;       ///< false: the model is made of the names in a recipe
};
struct WrittenRecipe {
    std::string text;
    std::vector<std::string> remarks = {}; ///< what its reader must do besides; sentences
};

struct RecipeFormat {
    const char* id;
    const char* title;
    const char* summary;  ///< what the file is, and who reads it
    const char* matching; ///< for people: "re.fullmatch of Flax paths; the last rule wins"
    NameSpace names;
    Wins wins;
    const char* ending; ///< of the files: ".json"
    bool (*recognises)(const RecipeSource& source);
    Result<ForeignRecipe> (*read)(const RecipeSource& source);
    /// Errors: what the format cannot say, with what would work.
    Result<WrittenRecipe> (*write)(const Assignment& assignment);
    /// The spec in the place of another one where the shape decides; null: never. `why` gets the reason.
    QuantSpec (*forShape)(const QuantSpec& spec, const TensorInfo& tensor, std::string& why) = nullptr;
    /// Fails with the reason for tensors that the program never quantizes; null: it takes all matrices.
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
