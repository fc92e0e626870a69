// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A message (frame) between program and worker over a socket pair. It is a header of 16 bytes, then a JSON object. The
// header holds four 32-bit numbers: magic, length of the JSON text in bytes, number of descriptors, 0. Descriptors of
// shared memory travel with the header. Neither side trusts the other.

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
    nlohmann::json body; ///< always an object
    std::vector<Descriptor> descriptors;
};

struct ChannelFault {
    bool closed =
        false; ///< true: the other side has closed its socket; false: it sent no valid frame, or reads no more
    std::string what;
};

constexpr std::size_t kLongestFrame = 16u << 20; ///< bytes
constexpr std::size_t kMostDescriptors = 16;

/// One thread may send while another receives.
class Channel {
public:
    explicit Channel(Descriptor socket);
    int descriptor() const { return socket_.get(); }
    /// Sends a frame. If the socket is full, it waits up to `seconds` for the other side to read.
    tl::expected<void, ChannelFault> send(const nlohmann::json& body, std::span<const int> descriptors = {},
                                          double seconds = 5);
    /// Returns a frame that has arrived; never waits. On nullopt the caller polls descriptor() and calls again.
    tl::expected<std::optional<Frame>, ChannelFault> receive();
    /// Refuses longer frames of the other side. The unit is bytes.
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
