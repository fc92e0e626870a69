// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/text.h"
#include "core/report/report.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

namespace qs {
namespace {

using Key = std::array<std::uint64_t, 4>; // device, inode, size, modification time in ns
using Hash = std::shared_future<Result<std::string>>;

Key keyOf(const struct stat& s) {
    return {s.st_dev, s.st_ino, std::uint64_t(s.st_size),
            std::uint64_t(s.st_mtim.tv_sec) * 1'000'000'000u + std::uint64_t(s.st_mtim.tv_nsec)};
}

struct Cache {
    std::mutex mutex;
    std::map<Key, Hash> hashes;
};
Cache& cache() {
    static Cache instance;
    return instance;
}

tl::unexpected<Error> unreadable(const std::string& path, int error) {
    return fail(fmt::format("{} could not be read for its SHA-256: {}.", escapeForPeople(path), std::strerror(error)),
                path);
}

/// Frees the memory of libcrypto for this thread after the work. A thread that ends at the same time as the process
/// would not free it.
struct ThreadState {
    ThreadState() = default;
    ThreadState(const ThreadState&) = delete;
    ThreadState& operator=(const ThreadState&) = delete;
    ~ThreadState() { OPENSSL_thread_stop(); }
};

Result<std::string> hashOf(int fd, const std::string& path, const Job& job) {
    const ThreadState thread;
    const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
    if (!context || EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) != 1)
        return fail("SHA-256 is not available in this build of libcrypto.", path);
    std::vector<unsigned char> buffer(1 << 18); // fits the CPU cache
    for (;;) {
        if (job.cancelled()) return cancelledError();
        const ssize_t n = ::read(fd, buffer.data(), buffer.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return unreadable(path, errno);
        if (n == 0) break;
        EVP_DigestUpdate(context.get(), buffer.data(), std::size_t(n));
    }
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    EVP_DigestFinal_ex(context.get(), digest, &size);
    std::string hex;
    for (unsigned i = 0; i < size; ++i) hex += fmt::format("{:02x}", digest[i]);
    return hex;
}

} // namespace

Result<std::string> sha256OfFile(const std::string& path, const Job& job) {
    struct stat before {};
    // O_NONBLOCK: do not wait for a writer of a FIFO, which is refused below.
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return unreadable(path, errno);
    const std::unique_ptr<const int, void (*)(const int*)> closer(&fd, [](const int* f) { ::close(*f); });
    if (::fstat(fd, &before) != 0) return unreadable(path, errno);
    if (!S_ISREG(before.st_mode))
        return fail(fmt::format("{} is not a regular file, so it has no SHA-256.", escapeForPeople(path)), path);

    const Key key = keyOf(before);
    std::promise<Result<std::string>> promise;
    Hash hash;
    {
        std::lock_guard lock(cache().mutex);
        const auto found = cache().hashes.find(key);
        if (found != cache().hashes.end())
            hash = found->second;
        else
            cache().hashes.emplace(key, promise.get_future().share());
    }
    if (hash.valid()) return hash.get();

    Result<std::string> result = hashOf(fd, path, job);
    struct stat after {};
    const bool stayed = ::fstat(fd, &after) == 0 && keyOf(after) == key;
    if (result && !stayed)
        result = fail(fmt::format("{} changed while its SHA-256 was taken.", escapeForPeople(path)), path);
    promise.set_value(result);
    if (!result) {
        std::lock_guard lock(cache().mutex);
        cache().hashes.erase(key);
    }
    return result;
}

} // namespace qs
