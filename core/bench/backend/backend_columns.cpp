// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/bench/backend/backend_list.h"

namespace qs {
namespace {

Value textOrNothing(const std::string& text) { return text.empty() ? Value{} : Value{text}; }

Column<BackendRow> words(const char* id, const char* title, const char* tip, std::string (*text)(const BackendRow&)) {
    return {{id, title, "", Show::Text, 0, Direction::None, tip},
            [text](const BackendRow& row) -> Value { return textOrNothing(text(row)); }};
}

std::string kindText(int kind) {
    static constexpr const char* kinds[] = {"", "cpu", "gpu", "tpu", "simulated", "compile_only"};
    return kind >= 0 && kind < 6 ? kinds[kind] : "";
}
std::string isolationText(int isolation) {
    static constexpr const char* levels[] = {"", "required", "preferred", "not_needed"};
    return isolation >= 0 && isolation < 4 ? levels[isolation] : "";
}

} // namespace

const Columns<BackendRow>& backendColumns() {
    using R = BackendRow;
    static const Columns<R> columns = {
        words("backend", "Backend", "Id of the backend; for a plugin that has not answered, the name of its file",
              [](const R& r) { return r.backend; }),
        words("device", "Device", "Id of the device; every device has a row",
              [](const R& r) { return r.device ? r.device->id : std::string(); }),
        words("status", "Status", "What the backend can do on this machine",
              [](const R& r) { return std::string(rowStateText(r.status)); }),
        words("version", "Version", "Of the backend itself", [](const R& r) { return r.version; }),
        words("reason", "Reason", "Why it is not available", [](const R& r) { return r.reason; }),
        words("hint", "Hint", "What can be done about it", [](const R& r) { return r.hint; }),
        words("name", "Name", "", [](const R& r) { return r.name; }),
        words("device_name", "Device name", "", [](const R& r) { return r.device ? r.device->name : std::string(); }),
        words("kind", "Kind", "cpu, gpu, tpu, simulated or compile_only",
              [](const R& r) { return r.device ? kindText(r.device->kind) : std::string(); }),
        words("arch", "Architecture", "", [](const R& r) { return r.device ? r.device->arch : std::string(); }),
        {{"memory", "Memory", "", Show::Bytes, 0, Direction::None, "Memory of the device, if the backend reports it"},
         [](const R& r) -> Value {
             return r.device && r.device->memory ? Value{std::int64_t(r.device->memory)} : Value{};
         }},
        words("isolation", "Isolation",
              "Whether the backend needs a process of its own: required, preferred or not needed",
              [](const R& r) { return isolationText(r.isolation); }),
        words("path", "Path", "File of the library; empty if the backend is part of the program",
              [](const R& r) { return r.path; }),
        {{"shipped", "Shipped", "", Show::Text, 0, Direction::None, "Part of QuantScope"},
         [](const R& r) -> Value { return r.shipped; }},
        words("license", "Licence", "", [](const R& r) { return r.license; }),
        words("versions", "Versions", "Versions of its runtime, and the environment that was set for it, as JSON",
              [](const R& r) { return r.versions; }),
    };
    return columns;
}

} // namespace qs
