// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What program and worker say to each other over a socket pair: a header of 16 bytes (magic, length, descriptors, 0),
// then a JSON object. Descriptors of shared memory travel with the header. Neither side trusts the other.

#include "core/process/descriptor.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <tl/expected.hpp>
#include <vector>

namespace qs {

struct Frame {
    nlohmann::json body; ///< an object
    std::vector<Descriptor> descriptors;
};

struct WireFault {
    bool closed = false; ///< the other side has gone; else it sent what is no frame, or reads no more
    std::string what;
};

constexpr std::size_t kLongestFrame = 16u << 20;
constexpr std::size_t kMostDescriptors = 16;

/// One thread may send while another receives.
class Channel {
public:
    explicit Channel(Descriptor socket);
    int descriptor() const { return socket_.get(); }
    /// Waits up to `seconds` for a reader that is behind.
    tl::expected<void, WireFault> send(const nlohmann::json& body, std::span<const int> descriptors = {},
                                       double seconds = 5);
    /// A frame that is here already; nullopt: poll descriptor() and ask again.
    tl::expected<std::optional<Frame>, WireFault> receive();
    /// Of the other side; a longer one is no frame.
    void limitFrames(std::size_t longest) { longest_ = longest; }

private:
    tl::expected<bool, WireFault> readHeader();
    Descriptor socket_;
    std::size_t longest_ = kLongestFrame;
    std::size_t headerGot_ = 0, bodyGot_ = 0;
    std::uint32_t header_[4] = {};
    std::string body_;
    std::vector<Descriptor> arrived_;
};

/// Refuses what is no JSON object, nests more than 8 deep or repeats a key.
tl::expected<nlohmann::json, std::string> strictObject(const std::string& text);

/// Reads the fields of an object that may lie. The first problem is kept; reading goes on with empty values.
class Fields {
public:
    explicit Fields(const nlohmann::json& object) : object_(object) {}
    bool has(const char* key) const;
    std::string text(const char* key, std::size_t longest);
    std::uint64_t count(const char* key, std::uint64_t most);
    std::int64_t integer(const char* key, std::int64_t least, std::int64_t most);
    double number(const char* key); ///< NaN for null
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
