// SPDX-License-Identifier: GPL-3.0-or-later
// Any codebook file must give an error, or a format that is consistent with its own rules.
#include "core/quant/codebook/user_formats.h"

#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const int fd = ::memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0 || ::ftruncate(fd, 0) != 0 || ::pwrite(fd, data, size, 0) != ssize_t(size)) std::abort();
    const auto format = qs::readUserFormat(fmt::format("/proc/self/fd/{}", fd));
    if (!format) {
        if (format.error().message.empty()) std::abort();
        return 0;
    }
    if (format->id.empty() || format->id.size() > 32) std::abort();
    if (format->levels.size() < 3 || format->levels.size() > 256) std::abort();
    for (std::size_t i = 0; i < format->levels.size(); ++i)
        if (!std::isfinite(format->levels[i]) || (i > 0 && !(format->levels[i - 1] < format->levels[i]))) std::abort();
    if (!qs::check(*format)) std::abort();
    return 0;
}
