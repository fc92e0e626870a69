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

struct ChannelFault {
    bool closed = false; ///< the other side has gone; else it sent what is no frame, or reads no more
    std::string what;
};

constexpr std::size_t kLongestFrame = 16u << 20; ///< bytes
constexpr std::size_t kMostDescriptors = 16;

/// One thread may send while another receives.
class Channel {
public:
    explicit Channel(Descriptor socket);
    int descriptor() const { return socket_.get(); }
    /// Waits up to `seconds` for a reader that is behind.
    tl::expected<void, ChannelFault> send(const nlohmann::json& body, std::span<const int> descriptors = {},
                                          double seconds = 5);
    /// A frame that is here already; nullopt: poll descriptor() and ask again.
    tl::expected<std::optional<Frame>, ChannelFault> receive();
    /// Of the other side; a longer one is no frame.
    void limitFrames(std::size_t longest) { longest_ = longest; }

private:
    tl::expected<bool, ChannelFault> readHeader();
    Descriptor socket_;
    std::size_t longest_ = kLongestFrame;
    std::size_t headerGot_ = 0, bodyGot_ = 0;
    std::uint32_t header_[4] = {};
    std::string body_;
    std::vector<Descriptor> arrived_;
};

} // namespace qs
