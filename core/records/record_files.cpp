// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/records/record_files.h"

#include "core/base/lists.h"
#include "core/base/text.h"
#include "core/model/crc32c.h"
#include "core/model/output/atomic_file.h"
#include "core/records/input_hash.h"

#include <QByteArray>
#include <QCryptographicHash>
#include <algorithm>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

namespace qs {
namespace {

static_assert(std::endian::native == std::endian::little);

namespace fs = std::filesystem;
constexpr std::string_view kMagic = "QSRECORD";
constexpr const char* kEnding = ".records";
constexpr std::uint64_t kMostHeader = 1 << 22;         ///< bytes
constexpr double kLeastSeconds = 1, kMostSeconds = 60; ///< records wait at most this long for others
constexpr std::size_t kMostWaiting = 16 << 20;         ///< bytes

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// A regular file that is open for reading. Others, such as a FIFO, are refused.
class InputFile {
public:
    static Result<InputFile> open(const std::string& path) {
        InputFile out;
        out.fd_.reset(new int(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)));
        struct stat status {};
        if (*out.fd_ < 0 || ::fstat(*out.fd_, &status) != 0)
            return fail(fmt::format("{} cannot be read: {}.", shownPath(path), std::strerror(errno)), path);
        if (!S_ISREG(status.st_mode))
            return fail(fmt::format("{} is no file of records: it is not a regular file.", shownPath(path)), path);
        out.size_ = std::uint64_t(status.st_size);
        return out;
    }
    std::uint64_t size() const { return size_; }
    bool readAt(std::uint64_t offset, void* to, std::size_t bytes) const {
        for (auto* at = static_cast<char*>(to); bytes > 0;) {
            const ssize_t n = ::pread(*fd_, at, bytes, off_t(offset));
            if (n < 0 && errno == EINTR) continue;
            if (n <= 0) return false;
            at += n, offset += std::uint64_t(n), bytes -= std::size_t(n);
        }
        return true;
    }

private:
    struct Close {
        void operator()(const int* fd) const {
            if (*fd >= 0) ::close(*fd);
            delete fd;
        }
    };
    std::unique_ptr<int, Close> fd_;
    std::uint64_t size_ = 0;
};

std::uint32_t sumOf(std::uint64_t size, std::string_view bytes) {
    std::string all(reinterpret_cast<const char*>(&size), sizeof size);
    all += bytes;
    return crc32c(std::as_bytes(std::span(all)));
}

std::string headerOf(const RecordsOrigin& origin) {
    const std::string json = nlohmann::json{{"command", origin.command}, {"about", origin.about}}.dump(
        -1, ' ', false, nlohmann::json::error_handler_t::replace);
    const std::uint64_t size = json.size();
    return std::string(kMagic) + std::string(reinterpret_cast<const char*>(&size), sizeof size) + json;
}

struct Header {
    RecordsOrigin origin;
    std::uint64_t end = 0; ///< offset of the first record
};

Result<Header> readHeader(const InputFile& file, const std::string& path) {
    const auto wrong = [&] { return fail(fmt::format("{} is no file of records.", shownPath(path)), path); };
    std::array<char, kMagic.size()> magic{};
    std::uint64_t size = 0;
    if (!file.readAt(0, magic.data(), magic.size()) || std::string_view(magic.data(), magic.size()) != kMagic ||
        !file.readAt(magic.size(), &size, sizeof size) || size > kMostHeader)
        return wrong();
    std::string text(std::size_t(size), '\0');
    if (!file.readAt(magic.size() + sizeof size, text.data(), text.size())) return wrong();
    const auto tree = nlohmann::json::parse(text, nullptr, false);
    if (!tree.is_object() || !tree.contains("command") || !tree.contains("about") || !tree["command"].is_array() ||
        !tree["about"].is_string())
        return wrong();
    Header out{{{}, tree["about"]}, magic.size() + sizeof size + size};
    for (const auto& word : tree["command"]) {
        if (!word.is_string()) return wrong();
        out.origin.command.push_back(word);
    }
    return out;
}

/// Files as they are, and the files of records in folders, in a fixed order.
Result<std::vector<std::string>> filesIn(const std::vector<std::string>& places) {
    std::vector<std::string> out;
    for (const std::string& place : places) {
        std::error_code error;
        if (!fs::is_directory(place, error)) {
            out.push_back(place);
            continue;
        }
        std::vector<std::string> inFolder;
        for (fs::directory_iterator entry(place, error), end; !error && entry != end; entry.increment(error))
            if (entry->path().extension() == kEnding) inFolder.push_back(entry->path().string());
        if (error) return fail(fmt::format("{} cannot be read: {}.", shownPath(place), error.message()), place);
        std::ranges::sort(inFolder);
        out.insert(out.end(), inFolder.begin(), inFolder.end());
    }
    return out;
}

} // namespace

Result<std::vector<RecordsOrigin>> RecordFiles::originsIn(const std::vector<std::string>& places) {
    const auto paths = filesIn(places);
    if (!paths) return tl::unexpected(paths.error());
    std::vector<RecordsOrigin> out;
    for (const std::string& path : *paths) {
        const auto file = InputFile::open(path);
        if (!file) return tl::unexpected(file.error());
        auto header = readHeader(*file, path);
        if (!header) return tl::unexpected(header.error());
        addOnce(out, std::move(header->origin));
    }
    if (out.empty())
        return fail(fmt::format("{} holds no files of records; a command with --records DIR writes them.",
                                places.empty() ? "That" : shownPath(places.front())));
    return out;
}

RecordFiles::~RecordFiles() { (void)write(); }

RecordFiles::Hash RecordFiles::hashOf(const RecordsOrigin& origin, const std::string& key) {
    const std::string text = origin.about + '\0' + key;
    const auto bytes =
        QCryptographicHash::hash(QByteArray(text.data(), qsizetype(text.size())), QCryptographicHash::Sha256);
    Hash out{};
    std::memcpy(out.data(), bytes.constData(), out.size());
    return out;
}

Result<RecordFiles> RecordFiles::open(const std::vector<std::string>& places, const std::string& folder,
                                      RecordsOrigin origin) {
    RecordFiles out;
    out.origin_ = std::move(origin), out.folder_ = folder, out.opened_ = now();
    std::error_code error;
    if (!folder.empty()) {
        fs::create_directories(folder, error);
        if (!fs::is_directory(folder, error))
            return fail(fmt::format("Records cannot be kept in {}: that is no folder and cannot be made one.",
                                    shownPath(folder)),
                        folder);
    }
    auto all = places;
    if (!folder.empty()) all.push_back(folder);
    const auto paths = filesIn(all);
    if (!paths) return tl::unexpected(paths.error());
    for (const std::string& path : *paths)
        if (auto done = out.read(path); !done && contains(places, path)) return tl::unexpected(done.error());
    return out;
}

std::size_t RecordFiles::size() const {
    std::size_t out = 0;
    for (auto at = known_.begin(); at != known_.end(); at = known_.upper_bound(at->first)) ++out;
    return out;
}

Result<void> RecordFiles::read(const std::string& path) {
    const auto file = InputFile::open(path);
    if (!file) return tl::unexpected(file.error());
    const auto header = readHeader(*file, path);
    if (!header) return tl::unexpected(header.error());
    if (header->origin.about != origin_.about) {
        ++filesOfOthers_;
        return {};
    }
    const auto index = std::uint32_t(paths_.size());
    paths_.push_back(path);
    std::uint64_t at = header->end;
    for (std::string bytes;;) {
        Hash hash{};
        Place place;
        place.file = index, place.offset = at + hash.size() + sizeof place.size + sizeof place.sum;
        if (place.offset > file->size() || !file->readAt(at, hash.data(), hash.size()) ||
            !file->readAt(at + hash.size(), &place.size, sizeof place.size) ||
            !file->readAt(at + hash.size() + sizeof place.size, &place.sum, sizeof place.sum) ||
            place.size > file->size() - place.offset)
            return {};
        bytes.resize(std::size_t(place.size));
        if (!file->readAt(place.offset, bytes.data(), bytes.size()) || sumOf(place.size, bytes) != place.sum) return {};
        known_.emplace(hash, place);
        at = place.offset + place.size;
    }
}

void RecordFiles::find(const std::string& key, const std::function<bool(const std::string& bytes)>& takes) const {
    const Hash hash = hashOf(origin_, key);
    if (const auto waiting = new_.find(hash); waiting != new_.end() && takes(waiting->second)) return;
    const auto [first, end] = known_.equal_range(hash);
    for (auto at = end; at != first;) {
        const Place& place = (--at)->second;
        const auto file = InputFile::open(paths_[place.file]);
        if (!file || place.offset > file->size() || place.size > file->size() - place.offset) continue;
        std::string bytes(std::size_t(place.size), '\0');
        const bool isSame =
            file->readAt(place.offset, bytes.data(), bytes.size()) && sumOf(place.size, bytes) == place.sum;
        if (isSame && takes(bytes)) return;
    }
}

Result<void> RecordFiles::add(const std::string& key, std::string bytes) {
    if (folder_.empty()) return {};
    const Hash hash = hashOf(origin_, key);
    const std::uint64_t size = bytes.size();
    const std::uint32_t sum = sumOf(size, bytes);
    waiting_.append(reinterpret_cast<const char*>(hash.data()), hash.size());
    waiting_.append(reinterpret_cast<const char*>(&size), sizeof size);
    waiting_.append(reinterpret_cast<const char*>(&sum), sizeof sum);
    waiting_ += bytes;
    new_[hash] = std::move(bytes);
    const double seconds = std::clamp((now() - opened_) / 100, kLeastSeconds, kMostSeconds);
    if (now() - written_ >= seconds || waiting_.size() >= kMostWaiting) return write();
    return {};
}

Result<void> RecordFiles::write() {
    if (waiting_.empty()) return {};
    const std::string header = headerOf(origin_);
    const std::string name = sha256OfText(header).substr(0, 12) + "-" + sha256OfText(waiting_).substr(0, 20);
    const std::string path = folder_ + "/" + name + kEnding;
    auto file = AtomicFile::create(path);
    if (!file) return tl::unexpected(file.error());
    if (auto done = file->write(header); !done) return done;
    if (auto done = file->write(waiting_); !done) return done;
    if (auto done = file->commit(); !done) return done;
    waiting_.clear(), new_.clear();
    written_ = now();
    return read(path);
}

Result<void> RecordFiles::forget() {
    waiting_.clear(), new_.clear(), known_.clear(), paths_.clear();
    const auto all = folder_.empty() ? std::vector<std::string>() : filesIn({folder_});
    if (!all) return tl::unexpected(all.error());
    for (const std::string& path : *all) {
        const auto file = InputFile::open(path);
        const auto header = file ? readHeader(*file, path) : tl::unexpected(file.error());
        if (!header || header->origin.about != origin_.about) continue;
        std::error_code error;
        fs::remove(path, error);
        if (error) return fail(fmt::format("{} cannot be deleted: {}.", shownPath(path), error.message()), path);
    }
    return {};
}

void RecordFiles::trim(const std::string& folder, std::uint64_t most, fs::file_time_type oldest) {
    struct One {
        fs::file_time_type time;
        std::string path;
        std::uint64_t size = 0;
    };
    const auto paths = filesIn({folder});
    if (!paths) return;
    std::vector<One> all;
    std::error_code error;
    for (const std::string& path : *paths) {
        const auto file = InputFile::open(path);
        const auto time = fs::last_write_time(path, error);
        if (file && readHeader(*file, path) && !error) all.push_back({time, path, file->size()});
    }
    std::ranges::sort(all, [](const One& a, const One& b) { return a.time > b.time; });
    std::uint64_t sum = 0;
    for (const One& one : all)
        if ((sum += one.size) > most || one.time < oldest) fs::remove(one.path, error);
}

} // namespace qs
