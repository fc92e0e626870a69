// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/quant/spec/calibration.h"

#include "core/quant/encode/double_quant.h"
#include "core/quant/spec/code_set.h"
#include "core/quant/spec/scale_type.h"

#include <algorithm>

namespace qs {
namespace {

constexpr CalibrationTraits kCalibrations[] = {
    {"absmax", "Absolute maximum", "[,c]",
     "Bound = c x max|x| of each scale group; c below 1 clips, c is 1 when not given.", 0, 1},
    {"absmean", "Mean magnitude", "[,c,p]",
     "Sign formats, without numbers: scale = mean|x| (binary, BitNet), or mean of the |x| above 0.7 mean|x| (Ternary "
     "Weight Networks). Others: bound = c x (sum|x|^p / number of x that are not 0)^(1/p).",
     0, 2},
    {"std", "Half a standard deviation", "",
     "Threshold = 0.5 std(x) over the whole tensor, no scale: unscaled ternary.", 0, 0},
    {"minmax", "Minimum and maximum", "[,c]",
     "From c x min(x, 0) to c x max(x, 0): scale = range / (qmax - qmin), zero point = qmin - min / scale rounded. Of "
     "dialect=mlx from min x to max x: the one of larger magnitude is the bias and a multiple of the scale.",
     0, 1},
    {"rms", "Root mean square", ",c", "Bound = c x sqrt(mean x^2).", 1, 1},
    {"fixed", "Fixed", ",b or ,lo,hi", "Bound = b, or from lo to hi, whatever the values are.", 1, 2},
    {"percentile", "Percentile", ",p", "Bound = the p-th percentile of |x|, p in percent, linear between values.", 1,
     1},
    {"mse", "Least squared error", "",
     "The range times the c of 1, 0.975, 0.95 ... 0.3 whose squared error is least, the largest of equals.", 0, 0},
    {"snr", "Best signal to noise (AQT)", "[,c...]",
     "AQT's search: the range times the first c with the largest log(1 + signal/noise); c is 0.1, 0.2 ... 1 when not "
     "given.",
     0, 16},
    {"hqq", "Half-quadratic zero point", "[,p[,beta[,kappa[,iterations]]]]",
     "Scale = (max - min) / (qmax - qmin); the zero point, not rounded, by HQQ's solver for the least |error|^p of the "
     "group: shrink, then average, until the mean error grows. 0.7, 10, 1.01 and 20 when not given.",
     0, 4},
};

} // namespace

std::span<const CalibrationTraits> calibrations() { return kCalibrations; }

std::vector<double> exampleArguments(std::string_view id, bool sign) {
    if (id == "rms") return {3};
    if (id == "fixed") return {1};
    if (id == "percentile") return {99.9};
    if (id == "absmean" && !sign) return {3, 1};
    return {};
}

std::vector<std::string_view> words(std::string_view list) {
    std::vector<std::string_view> out;
    while (!list.empty()) {
        const std::size_t end = std::min(list.find(' '), list.size());
        if (end > 0) out.push_back(list.substr(0, end));
        list.remove_prefix(std::min(end + 1, list.size()));
    }
    return out;
}

std::vector<std::string_view> scaleTypesOf(const QuantSpec& spec) {
    auto types = words(spec.traits().scaleTypes);
    if (isBnb8(spec)) return {types.front()};
    if (hasBiases(spec)) return {kInputScales, "f32", "f16", "bf16"};
    types.erase(std::remove(types.begin(), types.end(), kInputScales), types.end());
    const std::string dialect = spec.effectiveDialect();
    // ggml's blocks say what their scales are: unsigned E4M3 where compressed-tensors has scales for a tensor beside.
    // So has qwix' nvfp4.
    const bool unsignedE4m3 = std::count(types.begin(), types.end(), "ue4m3") > 0;
    if (dialect == "qwix" && unsignedE4m3) return {"ue4m3"};
    if (dialect == "ggml") return {unsignedE4m3 ? "ue4m3" : types.front()};
    if (dialect != "bnb") types.erase(std::remove(types.begin(), types.end(), "u8dq"), types.end());
    return types;
}

std::vector<std::string_view> calibrationsOf(const QuantSpec& spec) {
    const bool unscaled = spec.scaleKind() == ScaleKind::None;
    std::vector<std::string_view> out;
    if (spec.effectiveDialect() == "ggml") return out; // encoders and all
    if (isBnb8(spec)) return {"absmax"};
    if (hasBiases(spec)) return {"minmax"};
    // Only a threshold is calibrated without a scale; a threshold over the whole tensor has none. A zero point takes
    // both ends of a range.
    for (const std::string_view id : words(spec.traits().calibrations)) {
        const bool hqq = id == "hqq", range = hqq || id == "minmax" || id == "fixed" || id == "mse";
        if ((id == "std") == unscaled && (spec.isSymmetric() ? id != "minmax" && !hqq : range)) out.push_back(id);
    }
    return out;
}

} // namespace qs
