// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// HDF5 has no 8-bit float types; its float types would read their largest exponent as infinity. So they are stored as
// U8 with the attribute "dtype", whose value is the name in ml_dtypes.

#include "core/model/dtype.h"

#include <utility>

namespace qs {

inline constexpr std::pair<DType, const char*> kHdf5Float8[] = {{DType::F8_E4M3, "float8_e4m3fn"},
                                                                {DType::F8_E5M2, "float8_e5m2"},
                                                                {DType::F8_E8M0, "float8_e8m0fnu"},
                                                                {DType::F8_E4M3FNUZ, "float8_e4m3fnuz"},
                                                                {DType::F8_E5M2FNUZ, "float8_e5m2fnuz"}};

} // namespace qs
