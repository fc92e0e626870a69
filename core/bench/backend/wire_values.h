// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Converts the values of core/bench/backend/backend.h to JSON for the worker, and back with every field checked.
// value_fields.h lists the fields.

#include "core/bench/backend/value_fields.h"
#include "core/process/json_fields.h"

namespace qs {

struct WireLimits {
    static constexpr std::size_t kLongestText = 4096, ///< longer than any text of the ABI, escapes included
        kLongestKeptText = kLongestText, kMostItems = 1u << 20;
};

template<class T> nlohmann::json wireOf(const T& value) { return JsonOut<WireLimits>::jsonOf(value); }

/// The value of all fields of an object; an invalid one is refused.
template<class T> T valueFrom(Fields& fields) {
    JsonIn<WireLimits> in(fields.all());
    T value;
    qs::fields(in, value);
    if (in.problem())
        fields.refuse(*in.problem());
    else if (const auto fault = faultOf(value); !fault.empty())
        fields.refuse(fault);
    return value;
}

/// A list of such values, or of pairs of texts.
std::vector<DeviceInfo> devicesFrom(Fields& fields, const char* key);
Options optionsFrom(Fields& fields, const char* key);

} // namespace qs
