// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/text.h"
#include "core/value/figure.h"
#include "core/value/what_if.h"

namespace qs::value {
const Columns<WhatIfRow>& whatIfColumns() {
    using R = WhatIfRow;
    constexpr auto none = Direction::None;
    const auto sqnr = [](const char* id, const char* title, const char* tip, std::optional<Deviation> R::*field) {
        return columnOf<R>({id, title, "dB", Show::Fixed, 2, Direction::HigherIsBetter, tip},
                           [field](const R& r) { return figureOf(r.*field, &Deviation::sqnrCell); });
    };
    static const Columns<R> columns = {
        columnOf<R>({"operation", "Operation", "", Show::Text, 0, none, ""}, &R::operation),
        columnOf<R>({"detail", "How", "", Show::Text, 0, none, ""}, &R::detail),
        columnOf<R>({"shape", "Shape", "", Show::Text, 0, none, "afterwards; of one part when sharded"},
                    [](const R& r) { return shapeTimes(r.shape); }),
        columnOf<R>({"caused_nmse", "Caused NMSE", "", Show::Scientific, 3, Direction::LowerIsBetter,
                     "error that the operation itself causes: against the same operation on the decoded values"},
                    [](const R& r) { return figureOf(r.caused, &Deviation::nmse); }),
        sqnr("sqnr_db", "After", "SQNR of the result against the operation on W", &R::after),
        sqnr("sqnr_direct_db", "Direct", "W moved first and quantized once: what can be had", &R::direct),
        columnOf<R>(
            {"bytes_per_device", "Per device", "", Show::Bytes, 0, none, "most bytes on one device, codes and scales"},
            &R::bytesPerDevice),
        sqnr("sqnr_before_db", "Before", "SQNR of Q(W) against W", &R::before),
        columnOf<R>({"devices", "Devices", "", Show::Integer, 0, none, ""}, &R::devices),
        columnOf<R>({"bytes_before", "Bytes before", "", Show::Bytes, 0, none, "bytes of the quantized tensor"},
                    &R::bytesBefore),
        columnOf<R>({"bytes_total", "All devices", "", Show::Bytes, 0, none, ""}, &R::bytesTotal),
        columnOf<R>({"note", "Note", "", Show::Text, 0, none, ""},
                    [](const R& r) { return r.reason.empty() ? r.note : r.reason; }),
    };
    return columns;
}

} // namespace qs::value
