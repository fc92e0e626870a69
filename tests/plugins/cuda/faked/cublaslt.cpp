// SPDX-License-Identifier: GPL-3.0-or-later
// A fake cuBLASLt: multiplies on the host, and refuses what the real one refuses. Environment: QS_FAKE_LT_VERSION sets
// its version; QS_FAKE_LT_REFUSES is "rows" (scales of rows) or "all".
#include "kernels/format.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <cublasLt.h>

namespace {

struct Operation {
    cublasOperation_t ofA = CUBLAS_OP_N, ofB = CUBLAS_OP_N;
    std::int32_t modeA = 0, modeB = 0;
    const float *scaleA = nullptr, *scaleB = nullptr;
};
struct Layout {
    cudaDataType type;
    std::uint64_t rows, columns;
    std::int64_t ld;
};
int live = 0;

bool refuses(const char* what) {
    const char* refused = std::getenv("QS_FAKE_LT_REFUSES");
    return refused && std::strcmp(refused, what) == 0;
}
template<class T> T& of(const void* handle) { return *const_cast<T*>(static_cast<const T*>(handle)); }
bool aligned(const void* at) { return at && reinterpret_cast<std::uintptr_t>(at) % 16 == 0; }

/// y^T [n,m] = W^T x^T of bytes. Sizes must be multiples of 16, as in the real cuBLASLt.
bool takes(const Operation& operation, const Layout& a, const Layout& b, const Layout& c) {
    const bool e4m3 = a.type == CUDA_R_8F_E4M3, rows = operation.modeA == 3 && operation.modeB == 3;
    if (a.type != b.type || (!e4m3 && a.type != CUDA_R_8I)) return false;
    if (operation.ofA != CUBLAS_OP_T || operation.ofB != CUBLAS_OP_N) return false;
    if (a.rows != b.rows || a.columns != c.rows || b.columns != c.columns) return false;
    if (a.rows % 16 || a.columns % 16 || b.columns % 16 || a.ld % 16 || b.ld % 16 || c.ld % 16) return false;
    if (rows ? !e4m3 || !aligned(operation.scaleA) || !aligned(operation.scaleB) : operation.modeA || operation.modeB)
        return false;
    if (rows && refuses("rows")) return false;
    return c.type == (e4m3 ? CUDA_R_32F : CUDA_R_32I) || (rows && c.type == CUDA_R_16BF);
}

template<class T> cublasStatus_t destroyed(void* handle) {
    delete static_cast<T*>(handle), --live;
    return CUBLAS_STATUS_SUCCESS;
}

} // namespace

extern "C" {
int fakeLtHandles() { return live; }

std::size_t cublasLtGetVersion() {
    const char* version = std::getenv("QS_FAKE_LT_VERSION");
    return version ? std::strtoul(version, nullptr, 10) : 130100;
}
cublasStatus_t cublasLtCreate(cublasLtHandle_t* to) {
    if (refuses("all")) return CUBLAS_STATUS_NOT_INITIALIZED;
    *to = reinterpret_cast<cublasLtHandle_t>(new Operation), ++live;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) { return destroyed<Operation>(handle); }
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* to, cublasComputeType_t, cudaDataType_t) {
    *to = reinterpret_cast<cublasLtMatmulDesc_t>(new Operation), ++live;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t handle) { return destroyed<Operation>(handle); }
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t handle, cublasLtMatmulDescAttributes_t what,
                                              const void* value, std::size_t bytes) {
    auto& operation = of<Operation>(handle);
    const auto set = [&](auto& field) {
        if (bytes != sizeof field) return CUBLAS_STATUS_INVALID_VALUE;
        std::memcpy(&field, value, bytes);
        return CUBLAS_STATUS_SUCCESS;
    };
    switch (int(what)) {
    case CUBLASLT_MATMUL_DESC_TRANSA: return set(operation.ofA);
    case CUBLASLT_MATMUL_DESC_A_SCALE_POINTER: return set(operation.scaleA);
    case CUBLASLT_MATMUL_DESC_B_SCALE_POINTER: return set(operation.scaleB);
    case 31: return set(operation.modeA); // scale modes; older headers do not define the names
    case 32: return set(operation.modeB);
    default: return CUBLAS_STATUS_INVALID_VALUE;
    }
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* to, cudaDataType type, std::uint64_t rows,
                                          std::uint64_t columns, std::int64_t ld) {
    *to = reinterpret_cast<cublasLtMatrixLayout_t>(new Layout{type, rows, columns, ld}), ++live;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t handle) { return destroyed<Layout>(handle); }
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* to) {
    *to = reinterpret_cast<cublasLtMatmulPreference_t>(new Operation), ++live;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t handle) {
    return destroyed<Operation>(handle);
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t, cublasLtMatmulPreferenceAttributes_t,
                                                    const void*, std::size_t) {
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t operation,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t,
                                              cublasLtMatmulPreference_t, int, cublasLtMatmulHeuristicResult_t* results,
                                              int* found) {
    *found = takes(of<Operation>(operation), of<Layout>(a), of<Layout>(b), of<Layout>(c));
    if (*found) results[0].state = CUBLAS_STATUS_SUCCESS;
    return *found ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}
cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t operationHandle, const void*, const void* a,
                              cublasLtMatrixLayout_t aHandle, const void* b, cublasLtMatrixLayout_t bHandle,
                              const void*, const void*, cublasLtMatrixLayout_t, void* to,
                              cublasLtMatrixLayout_t toHandle, const cublasLtMatmulAlgo_t*, void*, std::size_t,
                              cudaStream_t) {
    const auto& operation = of<Operation>(operationHandle);
    const auto &ofA = of<Layout>(aHandle), &ofB = of<Layout>(bHandle), &ofTo = of<Layout>(toHandle);
    if (!takes(operation, ofA, ofB, ofTo) || !aligned(a) || !aligned(b) || !aligned(to))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    const bool e4m3 = ofA.type == CUDA_R_8F_E4M3;
    const auto table = qs::floatTable(*qs::findFormat("fp8_e4m3"));
    const auto value = [&](const void* data, std::int64_t at) {
        const auto byte = static_cast<const unsigned char*>(data)[at];
        return e4m3 ? double(table[byte]) : double(static_cast<signed char>(byte));
    };
    for (std::int64_t column = 0; column < std::int64_t(ofTo.columns); ++column)
        for (std::int64_t row = 0; row < std::int64_t(ofTo.rows); ++row) {
            double sum = 0;
            for (std::int64_t k = 0; k < std::int64_t(ofA.rows); ++k)
                sum += value(a, row * ofA.ld + k) * value(b, column * ofB.ld + k);
            if (operation.modeA) sum *= double(operation.scaleA[row]) * double(operation.scaleB[column]);
            const std::int64_t at = column * ofTo.ld + row;
            if (ofTo.type == CUDA_R_32I)
                static_cast<std::int32_t*>(to)[at] = std::int32_t(sum);
            else if (ofTo.type == CUDA_R_32F)
                static_cast<float*>(to)[at] = float(sum);
            else {
                const float rounded = float(sum);
                std::uint32_t bits = 0;
                std::memcpy(&bits, &rounded, sizeof bits);
                static_cast<std::uint16_t*>(to)[at] = std::uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
            }
        }
    return CUBLAS_STATUS_SUCCESS;
}
}
