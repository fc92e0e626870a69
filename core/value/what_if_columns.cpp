// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/text.h"
#include "core/value/what_if.h"

namespace qs::value {
namespace {

Value bytes(const std::optional<std::uint64_t>& value) { return value ? Value(std::int64_t(*value)) : Value(); }
Value decibels(const std::optional<Deviation>& error) {
    const auto value = error ? error->sqnrDb() : std::nullopt;
    return value ? Value(*value) : Value();
}

Columns<WhatIfRow> made() {
    using Row = WhatIfRow;
    Columns<Row> list;
    const auto text = [&](const char* id, const char* title, Show show, const char* tip, auto value) {
        list.push_back({{id, title, "", show, 0, Direction::None, tip}, value});
    };
    const auto sqnr = [&](const char* id, const char* title, const char* tip, std::optional<Deviation> Row::*field) {
        list.push_back({{id, title, "dB", Show::Fixed, 2, Direction::HigherIsBetter, tip},
                        [field](const Row& row) { return decibels(row.*field); }});
    };
    text("operation", "Operation", Show::Text, "", [](const Row& r) { return Value(r.operation); });
    text("detail", "How", Show::Text, "", [](const Row& r) { return Value(r.detail); });
    text("shape", "Shape", Show::Text, "afterwards; of one part when sharded",
         [](const Row& r) { return Value(shapeTimes(r.shape)); });
    list.push_back({{"caused_nmse", "Caused NMSE", "", Show::Scientific, 3, Direction::LowerIsBetter,
                     "error that the operation itself causes: against the same operation on the decoded values"},
                    [](const Row& r) {
                        if (!r.caused) return Value();
                        const auto value = r.caused->nmse();
                        return value ? Value(*value) : Value();
                    }});
    sqnr("sqnr_db", "After", "SQNR of the result against the operation on W", &Row::after);
    sqnr("sqnr_direct_db", "Direct", "W moved first and quantized once: what can be had", &Row::direct);
    text("bytes_per_device", "Per device", Show::Bytes, "most bytes on one device, codes and scales",
         [](const Row& r) { return bytes(r.bytesPerDevice); });
    sqnr("sqnr_before_db", "Before", "SQNR of Q(W) against W", &Row::before);
    text("devices", "Devices", Show::Integer, "", [](const Row& r) { return Value(r.devices); });
    text("bytes_before", "Bytes before", Show::Bytes, "bytes of the quantized tensor",
         [](const Row& r) { return bytes(r.bytesBefore); });
    text("bytes_total", "All devices", Show::Bytes, "", [](const Row& r) { return bytes(r.bytesTotal); });
    text("note", "Note", Show::Text, "", [](const Row& r) { return Value(r.reason.empty() ? r.note : r.reason); });
    return list;
}

} // namespace

const Columns<WhatIfRow>& whatIfColumns() {
    static const Columns<WhatIfRow> columns = made();
    return columns;
}

} // namespace qs::value
