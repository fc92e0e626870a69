// SPDX-License-Identifier: GPL-3.0-or-later
// Integers with a zero point or a bias: the range of values, codes counted from the lowest level, and decoded values.

inline void range(const float* x, std::size_t n, float& low, float& high) {
    Floats least = all(low), most = all(high); // `smaller` and `larger` return the second operand if the first is NaN
    std::size_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
        const Floats v = load(x + i);
        least = smaller(v, least), most = larger(v, most);
    }
    low = -largest(-least), high = largest(most);
    for (; i < n; ++i) low = x[i] < low ? x[i] : low, high = x[i] > high ? x[i] : high;
}

inline void shiftedCodes(const float* x, std::size_t n, const GroupParams& params, float low, float high,
                         std::uint8_t* codes) {
    const float scale = params.scale, zero = params.aux;
    std::size_t i = 0;
    for (; i + kLanes <= n; i += kLanes)
        storeCodes(codes + i, truncated(nearestWithin(load(x + i) / scale + zero, low, high) - low));
    for (; i < n; ++i) {
        const float v = x[i] / scale + zero, inside = v < low ? low : v > high ? high : v;
        codes[i] = std::uint8_t(int((inside + 12582912.0f) - 12582912.0f - low));
    }
}

inline void shiftedValues(const std::uint8_t* codes, std::size_t n, const GroupParams& params, float low, float* out) {
    const float scale = params.scale, zero = params.aux;
    std::size_t i = 0;
    for (; i + kLanes <= n; i += kLanes) store(out + i, (floatsOf(loadCodes(codes + i)) + low - zero) * scale);
    for (; i < n; ++i) out[i] = (float(codes[i]) + low - zero) * scale;
}

inline void biasedCodes(const float* x, std::size_t n, const GroupParams& params, float high, std::uint8_t* codes) {
    const float divisor = params.aux, bias = params.bias;
    std::size_t i = 0;
    for (; i + kLanes <= n; i += kLanes)
        storeCodes(codes + i, truncated(nearestWithin((load(x + i) - bias) / divisor, 0, high)));
    for (; i < n; ++i) {
        const float v = (x[i] - bias) / divisor, inside = v > 0 ? (v < high ? v : high) : 0;
        codes[i] = std::uint8_t(int((inside + 12582912.0f) - 12582912.0f));
    }
}

inline void biasedValues(const std::uint8_t* codes, std::size_t n, const GroupParams& params, float* out) {
    const float scale = params.scale, bias = params.bias;
    std::size_t i = 0;
    for (; i + kLanes <= n; i += kLanes) store(out + i, floatsOf(loadCodes(codes + i)) * scale + bias);
    for (; i < n; ++i) out[i] = float(codes[i]) * scale + bias;
}
