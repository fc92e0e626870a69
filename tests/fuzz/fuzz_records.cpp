// SPDX-License-Identifier: GPL-3.0-or-later
// Bytes of a file of records that cannot be trusted. The result must be an error, or the records that are whole.
#include "core/records/archive.h"
#include "core/records/record_files.h"

#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const int fd = ::memfd_create("records", 0);
    if (fd < 0 || ::write(fd, data, size) != ssize_t(size)) std::abort();
    const std::string path = "/proc/self/fd/" + std::to_string(fd);
    const auto origins = qs::RecordFiles::originsIn({path});
    if (!origins && origins.error().message.empty()) std::abort();
    const qs::RecordsOrigin origin = origins ? origins->front() : qs::RecordsOrigin{{"audit"}, "about\n"};
    const auto files = qs::RecordFiles::open({path}, {}, origin);
    if (files.has_value() != origins.has_value()) std::abort();
    if (files) (void)files->find("key");
    // The same bytes as values of several kinds
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    (void)qs::archive::valueOf<std::vector<std::pair<std::string, std::optional<double>>>>(bytes);
    (void)qs::archive::valueOf<std::vector<std::vector<bool>>>(bytes);
    ::close(fd);
    return 0;
}
