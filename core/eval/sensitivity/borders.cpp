// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/sensitivity/borders.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

namespace qs::eval {
namespace {

tl::unexpected<Error> fileFailed(const char* what) {
    return fail(fmt::format("The temporary file for hidden states cannot be {}: {}. Give more memory with --memory, or "
                            "another folder in TMPDIR.",
                            what, std::strerror(errno)));
}

/// Creates a file and removes its name at once, so that it disappears with the process.
std::FILE* namelessFile() {
    std::error_code error;
    const auto folder = std::filesystem::temp_directory_path(error);
    if (error) return nullptr;
    std::string name = (folder / "quantscope-states-XXXXXX").string();
    const int fd = ::mkstemp(name.data());
    if (fd < 0) return nullptr;
    ::unlink(name.c_str());
    std::FILE* file = ::fdopen(fd, "w+b");
    if (!file) ::close(fd);
    return file;
}

} // namespace

Result<void> Borders::keep(std::size_t layer, std::span<const float> values) {
    length_ = values.size();
    if (used_ + values.size_bytes() <= memory_) {
        used_ += values.size_bytes();
        inMemory_[layer].assign(values.begin(), values.end());
        return {};
    }
    if (!file_) file_.reset(namelessFile());
    if (!file_) return fileFailed("made");
    if (std::fseek(file_.get(), end_, SEEK_SET) != 0 ||
        std::fwrite(values.data(), sizeof(float), values.size(), file_.get()) != values.size() ||
        std::fflush(file_.get()) != 0)
        return fileFailed("written");
    inFile_[layer] = end_;
    end_ += long(values.size_bytes());
    return {};
}

Result<std::vector<float>> Borders::at(std::size_t layer) const {
    if (const auto found = inMemory_.find(layer); found != inMemory_.end()) return found->second;
    std::vector<float> out(length_);
    if (std::fseek(file_.get(), inFile_.at(layer), SEEK_SET) != 0 ||
        std::fread(out.data(), sizeof(float), out.size(), file_.get()) != out.size())
        return fileFailed("read");
    return out;
}

} // namespace qs::eval
