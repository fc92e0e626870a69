// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/sensitivity/records.h"

#include "core/base/text.h"
#include "core/model/companion.h"
#include "core/model/crc32c.h"
#include "core/records/input_hash.h"

#include <bit>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

namespace qs::eval {
namespace {

std::string checksum(const std::string& text) {
    return fmt::format("{:08x}", crc32c(std::as_bytes(std::span(text.data(), text.size()))));
}

std::string lineOf(const std::string& key, const std::vector<double>& values) {
    std::string line = key;
    for (const double value : values) line += fmt::format(" {:016x}", std::bit_cast<std::uint64_t>(value));
    return line + " " + checksum(line) + "\n";
}

/// Adds a line to `known` if it is whole.
void readLine(const std::string& line, std::map<std::string, std::vector<double>>& known) {
    const auto space = line.rfind(' ');
    if (space == line.npos || checksum(line.substr(0, space)) != line.substr(space + 1)) return;
    constexpr std::size_t kKey = 64, kNumber = 17;
    if (space < kKey || (space - kKey) % kNumber != 0) return;
    std::vector<double> values;
    for (std::size_t at = kKey; at < space; at += kNumber) {
        std::uint64_t bits = 0;
        const char* end = line.data() + at + kNumber;
        if (std::from_chars(line.data() + at + 1, end, bits, 16).ptr != end) return;
        values.push_back(std::bit_cast<double>(bits));
    }
    known[line.substr(0, kKey)] = std::move(values);
}

tl::unexpected<Error> notKept(const std::string& path, const std::string& why = std::strerror(errno)) {
    return fail(fmt::format("Finished runs cannot be kept in {}: {}. Name another folder with --cache.",
                            escapeForPeople(path, 300), why),
                path);
}

constexpr std::size_t kMostKept = std::size_t(1) << 30; ///< bytes of a file
constexpr const char* kNoFile = "that is not a regular file";

} // namespace

Result<Records> Records::open(const std::string& folder, const std::string& about) {
    Records out;
    if (folder.empty()) return out;
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    out.about_ = about;
    out.path_ = fmt::format("{}/{}.runs", folder, sha256OfText(about).substr(0, 32));
    if (!std::filesystem::is_directory(folder, error)) {
        errno = ENOTDIR;
        return notKept(folder);
    }
    struct stat status {};
    if (::lstat(out.path_.c_str(), &status) != 0) return out; // the first run
    if (!S_ISREG(status.st_mode)) return notKept(out.path_, kNoFile);
    const auto text = readCompanion(out.path_, kMostKept);
    if (!text) return tl::unexpected(text.error());
    std::istringstream lines(*text);
    for (std::string line; std::getline(lines, line);) {
        readLine(line, out.known_);
        out.isTorn_ = lines.eof();
    }
    return out;
}

std::optional<std::vector<double>> Records::find(const std::string& key) const {
    const auto found = known_.find(sha256OfText(about_ + key));
    return found == known_.end() ? std::nullopt : std::optional(found->second);
}

Result<void> Records::add(const std::string& key, const std::vector<double>& values) {
    if (path_.empty()) return {};
    const std::string hash = sha256OfText(about_ + key);
    const std::string line = (isTorn_ ? "\n" : "") + lineOf(hash, values);
    // A link is not followed, and a FIFO is not waited for.
    const int fd = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
    if (fd < 0) return notKept(path_);
    struct stat status {};
    if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        ::close(fd);
        return notKept(path_, kNoFile);
    }
    const ssize_t written = ::write(fd, line.data(), line.size()); // one call: lines of two programs do not mix
    const int problem = errno;
    ::close(fd);
    errno = problem;
    if (written != ssize_t(line.size())) return notKept(path_);
    isTorn_ = false;
    known_[hash] = values;
    return {};
}

} // namespace qs::eval
