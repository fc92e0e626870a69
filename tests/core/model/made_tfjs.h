// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The JSON of TensorFlow.js models.

#include "core/model/derived_tensor.h"
#include "core/model/model.h"
#include "made_file.h"
#include "real_file.h"

#include <sys/stat.h>

using namespace qs;

namespace tfjs_made {

inline QByteArray weight(const QByteArray& name, const QByteArray& shape, const QByteArray& dtype = "float32",
                         const QByteArray& quantization = {}) {
    return "{\"name\":\"" + name + "\",\"shape\":" + shape + ",\"dtype\":\"" + dtype + "\"" +
           (quantization.isEmpty() ? "" : ",\"quantization\":" + quantization) + "}";
}
inline QByteArray group(const QByteArray& weights, const QByteArray& paths = "\"a.bin\"") {
    return "{\"paths\":[" + paths + "],\"weights\":[" + weights + "]}";
}
inline QByteArray manifest(const QByteArray& groups) {
    return "{\"format\":\"layers-model\",\"modelTopology\":{},\"weightsManifest\":[" + groups + "]}";
}
/// One group of F32 weights.
inline QByteArray model(const QByteArray& weights) { return manifest(group(weights)); }

inline QByteArray half(const QByteArray& type) { return "{\"dtype\":\"" + type + "\"}"; }
inline QByteArray affine(const QByteArray& type, const QByteArray& scale, const QByteArray& min) {
    return "{\"dtype\":\"" + type + "\",\"scale\":" + scale + ",\"min\":" + min + "}";
}

} // namespace tfjs_made
