// SPDX-License-Identifier: GPL-3.0-or-later
// A fake cuBLAS: multiplies on the host what the backend asks of cuBLAS.
#include <cstdint>
#include <cstring>
#include <cublas_api.h>

extern "C" {
cublasStatus_t cublasCreate_v2(cublasHandle_t* to) {
    *to = reinterpret_cast<cublasHandle_t>(new int);
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
    delete reinterpret_cast<int*>(handle);
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetStream_v2(cublasHandle_t, cudaStream_t) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasGetVersion_v2(cublasHandle_t, int* to) {
    *to = 130100;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGemmEx(cublasHandle_t, cublasOperation_t ofA, cublasOperation_t ofB, int m, int n, int k,
                            const void*, const void* a, cudaDataType type, int lda, const void* b, cudaDataType typeB,
                            int ldb, const void*, void* c, cudaDataType typeC, int ldc, cublasComputeType_t,
                            cublasGemmAlgo_t) {
    if (ofB != CUBLAS_OP_N || type != typeB || typeC != CUDA_R_32F || (type != CUDA_R_32F && type != CUDA_R_16BF))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    const auto value = [&](const void* data, long at) {
        if (type == CUDA_R_32F) return double(static_cast<const float*>(data)[at]);
        const std::uint32_t bits = std::uint32_t(static_cast<const std::uint16_t*>(data)[at]) << 16;
        float f = 0;
        std::memcpy(&f, &bits, sizeof f);
        return double(f);
    };
    for (long column = 0; column < n; ++column)
        for (long row = 0; row < m; ++row) {
            double sum = 0;
            for (long i = 0; i < k; ++i)
                sum += value(a, ofA == CUBLAS_OP_T ? row * lda + i : i * lda + row) * value(b, column * ldb + i);
            static_cast<float*>(c)[column * ldc + row] = float(sum);
        }
    return CUBLAS_STATUS_SUCCESS;
}
}
