// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/bench/backend/wire_values.h"

#include <nlohmann/json.hpp>

namespace qs {

std::vector<DeviceInfo> devicesFrom(Fields& fields, const char* key) {
    std::vector<DeviceInfo> devices;
    for (const auto& item : fields.array(key, 64)) {
        Fields one(item);
        devices.push_back(valueFrom<DeviceInfo>(one));
        fields.take(one);
    }
    return devices;
}

Options optionsFrom(Fields& fields, const char* key) {
    Options options;
    for (const auto& pair : fields.array(key, 256))
        if (pair.is_array() && pair.size() == 2 && pair[0].is_string() && pair[1].is_string())
            options.emplace_back(pair[0].get<std::string>(), pair[1].get<std::string>());
        else
            fields.refuse("an option is not a pair of texts");
    return options;
}

} // namespace qs
