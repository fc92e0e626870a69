// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/process/frame.h"

#include "core/process/fields.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace qs {
namespace {

constexpr std::uint32_t kMagic = 0x32575351; // "QSW2"
constexpr std::size_t kControlRoom = CMSG_SPACE(kMostDescriptors * sizeof(int));

tl::unexpected<ChannelFault> closed() { return tl::unexpected(ChannelFault{true, "the other side has gone"}); }
tl::unexpected<ChannelFault> broken(std::string what) { return tl::unexpected(ChannelFault{false, std::move(what)}); }

using Clock = std::chrono::steady_clock;

} // namespace

Channel::Channel(Descriptor socket) : socket_(std::move(socket)) {
    fcntl(socket_.get(), F_SETFL, fcntl(socket_.get(), F_GETFL) | O_NONBLOCK);
}

tl::expected<void, ChannelFault> Channel::send(const nlohmann::json& body, std::span<const int> descriptors,
                                               double seconds) {
    const std::string text = body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    if (text.size() > kLongestFrame || descriptors.size() > kMostDescriptors)
        return broken(fmt::format("a message of {} bytes is too long", text.size()));
    const std::uint32_t header[4] = {kMagic, std::uint32_t(text.size()), std::uint32_t(descriptors.size()), 0};
    const auto until = Clock::now() + std::chrono::duration<double>(seconds);
    std::size_t sent = 0;
    const std::size_t total = sizeof header + text.size();
    while (sent < total) {
        // The kernel sends the descriptors with the first byte of a message. The header is a message of its own, so the
        // descriptors cannot arrive with another frame.
        const bool inHeader = sent < sizeof header;
        iovec piece = inHeader
                          ? iovec{const_cast<char*>(reinterpret_cast<const char*>(header)) + sent, sizeof header - sent}
                          : iovec{const_cast<char*>(text.data()) + (sent - sizeof header), total - sent};
        msghdr message{};
        message.msg_iov = &piece;
        message.msg_iovlen = 1;
        alignas(cmsghdr) char control[kControlRoom] = {};
        if (sent == 0 && !descriptors.empty()) {
            message.msg_control = control;
            message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
            cmsghdr* rights = CMSG_FIRSTHDR(&message);
            rights->cmsg_level = SOL_SOCKET;
            rights->cmsg_type = SCM_RIGHTS;
            rights->cmsg_len = CMSG_LEN(descriptors.size_bytes());
            std::memcpy(CMSG_DATA(rights), descriptors.data(), descriptors.size_bytes());
        }
        const ssize_t wrote = sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (wrote >= 0) {
            sent += std::size_t(wrote);
            continue;
        }
        if (errno == EPIPE || errno == ECONNRESET) return closed();
        if (errno != EAGAIN && errno != EINTR) return broken(fmt::format("sending: {}", std::strerror(errno)));
        if (Clock::now() >= until) return broken(fmt::format("nothing was read for {} s", seconds));
        pollfd ready{socket_.get(), POLLOUT, 0};
        poll(&ready, 1, 20);
    }
    return {};
}

tl::expected<bool, ChannelFault> Channel::readHeader() {
    while (headerGot_ < sizeof header_) {
        iovec piece{reinterpret_cast<char*>(header_) + headerGot_, sizeof header_ - headerGot_};
        alignas(cmsghdr) char control[kControlRoom];
        msghdr message{};
        message.msg_iov = &piece;
        message.msg_iovlen = 1;
        message.msg_control = control;
        message.msg_controllen = sizeof control;
        const ssize_t got = recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC);
        if (got == 0 || (got < 0 && errno == ECONNRESET)) return closed();
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && errno == EAGAIN) return false;
        if (got < 0) return broken(fmt::format("receiving: {}", std::strerror(errno)));
        for (cmsghdr* part = CMSG_FIRSTHDR(&message); part; part = CMSG_NXTHDR(&message, part)) {
            if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
            for (std::size_t i = 0; i < (part->cmsg_len - CMSG_LEN(0)) / sizeof(int); ++i) {
                int number = -1;
                std::memcpy(&number, CMSG_DATA(part) + i * sizeof(int), sizeof number);
                arrived_.emplace_back(number);
            }
        }
        headerGot_ += std::size_t(got);
        if (message.msg_flags & MSG_CTRUNC || arrived_.size() > kMostDescriptors)
            return broken("more descriptors than a frame may carry");
    }
    if (header_[0] != kMagic || header_[3] != 0) return broken("bytes that are no frame");
    if (header_[1] > longest_) return broken(fmt::format("a frame of {} bytes", header_[1]));
    if (header_[2] != arrived_.size())
        return broken(fmt::format("{} descriptors instead of {}", arrived_.size(), header_[2]));
    return true;
}

tl::expected<std::optional<Frame>, ChannelFault> Channel::receive() {
    const auto whole = readHeader();
    if (!whole) return tl::unexpected(whole.error());
    if (!*whole) return std::optional<Frame>();
    // The text grows in pieces of 64 KiB, because the length in the header cannot be trusted.
    while (bodyGot_ < header_[1]) {
        if (body_.size() == bodyGot_) body_.resize(bodyGot_ + std::min<std::size_t>(header_[1] - bodyGot_, 64 * 1024));
        const ssize_t got = recv(socket_.get(), body_.data() + bodyGot_, body_.size() - bodyGot_, 0);
        if (got == 0 || (got < 0 && errno == ECONNRESET)) return closed();
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && errno == EAGAIN) return std::optional<Frame>();
        if (got < 0) return broken(fmt::format("receiving: {}", std::strerror(errno)));
        bodyGot_ += std::size_t(got);
    }
    body_.resize(bodyGot_);
    auto object = strictObject(body_);
    if (!object) return broken(object.error());
    Frame frame{std::move(*object), std::move(arrived_)};
    headerGot_ = bodyGot_ = 0;
    body_.clear();
    arrived_.clear();
    return std::optional<Frame>(std::move(frame));
}

} // namespace qs
