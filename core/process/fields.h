// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Reads JSON that cannot be trusted, because it comes from another process or from a file.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <tl/expected.hpp>

namespace qs {

/// Parses a JSON object. Refuses other JSON, objects nested more than 8 deep, and objects that repeat a key.
tl::expected<nlohmann::json, std::string> strictObject(const std::string& text);

/// Reads the fields of an object and checks type, length and range of each. After a problem reading goes on with empty
/// values, so the caller may ask for problem() once, at the end. The first problem is kept.
class Fields {
public:
    explicit Fields(const nlohmann::json& object) : object_(object) {}
    bool has(const char* key) const;
    const nlohmann::json& all() const { return object_; }
    std::string text(const char* key, std::size_t longest);
    std::uint64_t count(const char* key, std::uint64_t most);
    std::int64_t integer(const char* key, std::int64_t least, std::int64_t most);
    double number(const char* key); ///< null is read as NaN
    bool flag(const char* key);
    const nlohmann::json& array(const char* key, std::size_t most);
    const nlohmann::json& object(const char* key);
    void refuse(const std::string& why);
    const std::optional<std::string>& problem() const { return problem_; }
    /// Takes over the problem of a nested object.
    void take(const Fields& nested);

private:
    const nlohmann::json& field(const char* key);
    const nlohmann::json& object_;
    std::optional<std::string> problem_;
};

} // namespace qs
