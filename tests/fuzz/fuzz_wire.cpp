// SPDX-License-Identifier: GPL-3.0-or-later
// Any frame text, from a worker process or from the host. The result must be an error, or values that are encoded and
// decoded unchanged.
#include "core/bench/backend/wire_values.h"

#include <cstdlib>

namespace {

template<class Read> void read(const nlohmann::json& object, Read&& from) {
    qs::Fields fields(object);
    from(fields);
    if (fields.problem() && fields.problem()->empty()) std::abort();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto object = qs::strictObject({reinterpret_cast<const char*>(data), size});
    if (!object) {
        if (object.error().empty()) std::abort();
        return 0;
    }
    read(*object, [](auto& f) { (void)qs::valueFrom<qs::Failure>(f); });
    read(*object, [](auto& f) { (void)qs::valueFrom<qs::ProbeResult>(f); });
    read(*object, [](auto& f) { (void)qs::optionsFrom(f, "options"); });
    read(*object, [](auto& f) { (void)qs::devicesFrom(f, "devices"); });
    read(*object, [](auto& f) { (void)qs::valueFrom<qs::Support>(f); });
    read(*object, [](auto& f) { (void)qs::valueFrom<qs::PreparedKernel>(f); });
    read(*object, [](auto& f) { (void)qs::valueFrom<qs::RunOptions>(f); });
    read(*object, [](auto& f) { (void)qs::valueFrom<qs::RunSamples>(f); });
    qs::Fields fields(*object);
    const auto problem = qs::valueFrom<qs::Problem>(fields);
    if (fields.problem()) return 0;
    const auto wired = qs::wireOf(problem);
    qs::Fields again(wired);
    if (!(qs::valueFrom<qs::Problem>(again) == problem) || again.problem()) std::abort();
    return 0;
}
