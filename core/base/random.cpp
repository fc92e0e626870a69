// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/random.h"

namespace qs {
namespace {

// splitmix64 (Steele, Lea, Flood 2014).
std::uint64_t mixed(std::uint64_t z) {
    z += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

} // namespace

std::uint64_t randomBits(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
    return mixed(mixed(mixed(seed) ^ stream) ^ index);
}

float normalVariate(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
    std::int64_t sum = 0;
    for (std::uint64_t word = 0; word < 3; ++word) {
        const std::uint64_t bits = randomBits(seed, stream, 3 * index + word);
        sum += std::int64_t((bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48));
    }
    // The sum of twelve uniform values in [0, 65535]: subtract the mean 12 * 65535 / 2, and divide by 65536.
    return float(2 * sum - 12 * 65535) / 131072.0f;
}

} // namespace qs
