// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/pjrt/context.h"

namespace qs::pjrt {

std::string describeJson(const qs_ctx& context) {
    const auto& client = *context.client;
    std::string attributes;
    for (const auto& [name, json] : client.pluginAttributes())
        attributes += (attributes.empty() ? "" : ",") + jsonText(name) + ":" + json;
    std::string kind;
    try {
        kind = client.deviceKind();
    } catch (const Fault&) { // the name is not needed
    }
    return "{\"plugin\":" + jsonText(context.path) + ",\"pjrt_api\":\"" + std::to_string(client.api().major()) + "." +
           std::to_string(client.api().minor()) + "\",\"platform\":" + jsonText(client.platform()) +
           ",\"platform_version\":" + jsonText(client.platformVersion()) + ",\"device_kind\":" + jsonText(kind) +
           ",\"devices\":" + std::to_string(client.deviceCount()) +
           ",\"topology\":" + (context.topology.empty() ? "null" : jsonText(context.topology)) + ",\"attributes\":{" +
           attributes + "},\"clock\":\"host\",\"program_format\":\"StableHLO text\",\"hlo_with_config\":\"HLO text\"}";
}

std::string base64(const std::string& bytes) {
    static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out;
    out.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        std::uint32_t word = 0;
        for (std::size_t j = 0; j < 3; ++j)
            word = word << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0u);
        for (std::size_t j = 0; j < 4; ++j) out += i + j <= bytes.size() ? kDigits[word >> (18 - 6 * j) & 63] : '=';
    }
    return out;
}

} // namespace qs::pjrt
