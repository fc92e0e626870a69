// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// 8-bit floats are no type of HDF5, whose own arithmetic would take their largest exponent for infinities: they are U8
// with the attribute "dtype", by the names that ml_dtypes has for them.

#include "core/model/dtype.h"

#include <utility>

namespace qs {

inline constexpr std::pair<DType, const char*> kHdf5Float8[] = {{DType::F8_E4M3, "float8_e4m3fn"},
                                                                {DType::F8_E5M2, "float8_e5m2"},
                                                                {DType::F8_E8M0, "float8_e8m0fnu"},
                                                                {DType::F8_E4M3FNUZ, "float8_e4m3fnuz"},
                                                                {DType::F8_E5M2FNUZ, "float8_e5m2fnuz"}};

} // namespace qs
