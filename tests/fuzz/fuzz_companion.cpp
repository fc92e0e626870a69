// SPDX-License-Identifier: GPL-3.0-or-later
// Files beside the weights or named on the command line: config.json (read and written again), a certificate, a former
// benchmark, a recipe. The first byte selects the kind; the rest is the file.
#include "core/bench/report/compare.h"
#include "core/export/certificate.h"
#include "core/export/recipe.h"
#include "core/model/companion.h"
#include "core/model/mapped_file.h"

#include <cstdlib>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/mman.h>
#include <unistd.h>

namespace {

void mustSay(const qs::Error& error) {
    if (error.message.empty()) std::abort();
}

/// What audits, conventions and exported folders do with it.
void config(const std::string& path) {
    const auto tree = qs::readCompanionTree(path);
    if (!tree) return mustSay(tree.error());
    const auto text = qs::readCompanion(path);
    if (!text) std::abort();
    auto ordered = qs::readOrderedJsonTree(*text);
    if (!ordered || nlohmann::json(*ordered) != *tree) std::abort();
    if (!ordered->is_object()) return;
    for (const char* key : {"quantization_config", "compression_config", "quantization"}) ordered->erase(key);
    ordered->update(nlohmann::ordered_json{{"quantization_config", {{"quant_method", "bitsandbytes"}}}});
    const std::string again = ordered->dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
    if (!qs::readJsonTree(again, 8 * text->size() + 4096) && !qs::isDeeperThan(again, 32)) std::abort();
}

/// A certificate that is read must be written and read back unchanged.
void certificate(const std::string& text) {
    const auto read = qs::parseCertificate(text, "fuzz");
    if (!read) return mustSay(read.error());
    const auto written = qs::certificateText(*read);
    const auto again = qs::parseCertificate(written, "fuzz");
    if (!again || qs::certificateText(*again) != written) std::abort();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
    static const int fd = ::memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0 || ::ftruncate(fd, 0) != 0 || ::pwrite(fd, text.data(), text.size(), 0) != ssize_t(text.size()))
        std::abort();
    const auto path = fmt::format("/proc/self/fd/{}", fd);
    switch (data[0] % 4) {
    case 0: config(path); break;
    case 1: certificate(text); break;
    case 2:
        if (const auto read = qs::readBenchBaseline(path); !read) mustSay(read.error());
        break;
    default:
        if (const auto read = qs::readRecipe(path); !read) mustSay(read.error());
    }
    return 0;
}
