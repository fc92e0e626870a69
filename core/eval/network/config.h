// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The description of a network as its files give it, under the key names of Hugging Face's config.json. What a GGUF
// file says is put under the same names. A reader takes the keys it knows; what is left and may change arithmetic is
// refused.

#include "core/model/model.h"

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>

namespace qs::eval {

/// The numbers that a key may have, its ends too.
struct NumberRange {
    double least, most;
};
inline constexpr NumberRange kEpsilons{0, 1}, kThetas{1, 1e15}, kAbove0{1e-9, 1e9}, kShares{1e-9, 1};

class Config {
public:
    /// Reads config.json beside the weights, or the keys of a GGUF file. For a network that also takes pictures or
    /// sound it reads only the part of the language model (text_config). Errors: there is no description, it is not an
    /// object, or it has no model type.
    static Result<Config> of(const Model& model);

    const std::string& modelType() const { return modelType_; } ///< "llama"; of GGUF its general.architecture
    bool isGguf() const { return isGguf_; }

    bool has(const char* key);            ///< present and not null
    bool mentions(const char* key) const; ///< present, even if it is null
    /// A whole number from 1 to 2^24, so that products of two sizes fit 64 bits.
    std::int64_t count(const char* key);
    std::int64_t count(const char* key, std::int64_t otherwise);
    double number(const char* key, double otherwise, NumberRange range);
    /// The same below another object, whose name the refusal gives.
    double number(const nlohmann::json& object, const char* name, const char* key, double otherwise, NumberRange range);
    bool flag(const char* key, bool otherwise);
    std::string text(const char* key, std::string otherwise);
    /// The value under a key; null when there is none.
    const nlohmann::json& value(const char* key);
    /// The key is read elsewhere or changes nothing for this family.
    void ignore(std::initializer_list<const char*> keys);

    void refuse(std::string why);
    /// Returns the first problem of all reads. If there is none, returns a key that was not read and may change
    /// arithmetic.
    Result<void> finish() const;

private:
    const nlohmann::json* find(const char* key);
    std::shared_ptr<const nlohmann::json> tree_; // a pointer, so that few sources compile the parser of JSON
    std::string modelType_, place_;
    bool isGguf_ = false;
    std::set<std::string> read_;
    std::optional<std::string> problem_;
};

} // namespace qs::eval
