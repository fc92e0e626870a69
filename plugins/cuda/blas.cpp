// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/cuda/blas.h"

#include <unistd.h>

namespace qs::cuda {
namespace {

// Values of CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F and CUBLASLT_MATMUL_DESC_A_SCALE_MODE, _B_SCALE_MODE. Headers
// before CUDA 12.9 do not have them. They are not used with older libraries, which could understand them differently.
constexpr std::int32_t kScaleOfARow = 3;
constexpr int kModeOfA = 31, kModeOfB = 32;
constexpr std::size_t kRowsAreScaledFrom = 120900;

void checkBlas(cublasStatus_t status, const char* what) {
    if (status != CUBLAS_STATUS_SUCCESS)
        throw plugin::Refusal(status == CUBLAS_STATUS_ALLOC_FAILED ? QS_RESOURCE_EXHAUSTED : QS_INTERNAL,
                              std::string(what) + " failed with status " + std::to_string(int(status)));
}

/// Loads the newest version that is installed. Returns "" or what is missing.
std::string loadNewest(plugin::SharedLibrary& library, const std::string& folder, const std::string& name) {
    std::string problem = name + ".so.13 (or .so.12) is not installed";
    for (const char* version : {".so.13", ".so.12"}) {
        const std::string path =
            folder.empty() ? plugin::findSharedLibrary(name + version) : folder + '/' + name + version;
        if (path.empty() || ::access(path.c_str(), R_OK) != 0) continue;
        if (library.load(path)) return {};
        problem = library.problem();
    }
    return problem;
}

} // namespace

void Blas::load(const std::string& folder, cudaStream_t stream, int capability) {
    stream_ = stream;
    // cuBLAS needs cuBLASLt, so cuBLASLt is loaded first.
    libraries_.noLt = loadNewest(lt_, folder, "libcublasLt");
    libraries_.noBlas = loadNewest(blas_, folder, "libcublas");
    if (libraries_.noBlas.empty() &&
        !(blas_.resolve(create_, "cublasCreate_v2") && blas_.resolve(destroy_, "cublasDestroy_v2") &&
          blas_.resolve(setStream_, "cublasSetStream_v2") && blas_.resolve(getVersion_, "cublasGetVersion_v2") &&
          blas_.resolve(gemm_, "cublasGemmEx")))
        libraries_.noBlas = blas_.path() + " lacks functions of cuBLAS";
    if (libraries_.noLt.empty() &&
        !(lt_.resolve(ltVersion_, "cublasLtGetVersion") && lt_.resolve(ltCreate_, "cublasLtCreate") &&
          lt_.resolve(ltDestroy_, "cublasLtDestroy") && lt_.resolve(descCreate_, "cublasLtMatmulDescCreate") &&
          lt_.resolve(descDestroy_, "cublasLtMatmulDescDestroy") &&
          lt_.resolve(descSet_, "cublasLtMatmulDescSetAttribute") &&
          lt_.resolve(layoutCreate_, "cublasLtMatrixLayoutCreate") &&
          lt_.resolve(layoutDestroy_, "cublasLtMatrixLayoutDestroy") &&
          lt_.resolve(preferenceCreate_, "cublasLtMatmulPreferenceCreate") &&
          lt_.resolve(preferenceDestroy_, "cublasLtMatmulPreferenceDestroy") &&
          lt_.resolve(preferenceSet_, "cublasLtMatmulPreferenceSetAttribute") &&
          lt_.resolve(heuristic_, "cublasLtMatmulAlgoGetHeuristic") && lt_.resolve(matmul_, "cublasLtMatmul")))
        libraries_.noLt = lt_.path() + " lacks functions of cuBLASLt";
    // A library may fail to start, for example because the driver is too old. Our own kernels can still be used then.
    const auto began = [](std::string& missing, const char* call, cublasStatus_t status) {
        if (status != CUBLAS_STATUS_SUCCESS)
            missing = std::string(call) + " failed with status " + std::to_string(int(status));
        return missing.empty();
    };
    if (libraries_.noBlas.empty() && began(libraries_.noBlas, "cublasCreate", create_(&handle_)))
        checkBlas(setStream_(handle_, stream_), "cublasSetStream");
    if (libraries_.noLt.empty() && began(libraries_.noLt, "cublasLtCreate", ltCreate_(&ltHandle_)))
        workspace_ = Memory(kWorkspaceBytes);
    libraries_.noFp8 = libraries_.noLt;
    if (capability < 89)
        libraries_.noFp8 = "fp8 products need compute capability 8.9, the device has " +
                           std::to_string(capability / 10) + '.' + std::to_string(capability % 10);
}

void Blas::close() {
    if (handle_) destroy_(std::exchange(handle_, nullptr));
    if (ltHandle_) ltDestroy_(std::exchange(ltHandle_, nullptr));
}

std::string Blas::version() const {
    int version = 0;
    if (!handle_ || getVersion_(handle_, &version) != CUBLAS_STATUS_SUCCESS) return "none";
    return std::to_string(version);
}

// cuBLAS stores matrices by columns, so it sees our matrices transposed and computes y^T[n,m] = W^T x^T.
void Blas::product(std::int64_t m, std::int64_t n, std::int64_t k, const void* x, const void* w, cudaDataType type,
                   bool wIsKn, float* y) {
    const float one = 1, none = 0;
    checkBlas(gemm_(handle_, wIsKn ? CUBLAS_OP_N : CUBLAS_OP_T, CUBLAS_OP_N, int(n), int(m), int(k), &one, w, type,
                    int(wIsKn ? n : k), x, type, int(k), &none, y, CUDA_R_32F, int(n), CUBLAS_COMPUTE_32F,
                    CUBLAS_GEMM_DEFAULT),
              "cublasGemmEx");
}

Blas::ByteProduct& Blas::ByteProduct::operator=(ByteProduct&& other) noexcept {
    std::swap(owner, other.owner), std::swap(operation, other.operation);
    std::swap(a, other.a), std::swap(b, other.b), std::swap(c, other.c);
    type = other.type, scaled = other.scaled, algorithm = other.algorithm;
    return *this;
}
Blas::ByteProduct::~ByteProduct() {
    if (!owner) return;
    if (operation) owner->descDestroy_(operation);
    for (cublasLtMatrixLayout_t layout : {a, b, c})
        if (layout) owner->layoutDestroy_(layout);
}

/// Sets up a plan. With xScale the product also scales; without it the result is the sums. Returns the status of the
/// first call that failed, or success.
cublasStatus_t Blas::fill(ByteProduct& plan, std::int64_t m, std::int64_t n, std::int64_t k, cudaDataType to,
                          const float* xScale) const {
    cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
    const auto step = [&](cublasStatus_t result) { return (status = result) == CUBLAS_STATUS_SUCCESS; };
    const auto set = [&](int what, const auto& value) {
        const auto attribute = static_cast<cublasLtMatmulDescAttributes_t>(what);
        return step(descSet_(plan.operation, attribute, &value, sizeof value));
    };
    plan.owner = this, plan.scaled = xScale != nullptr;
    const bool e4m3 = plan.type == Byte::E4m3;
    const cudaDataType element = e4m3 ? CUDA_R_8F_E4M3 : CUDA_R_8I, sum = e4m3 ? CUDA_R_32F : CUDA_R_32I;
    if (!step(descCreate_(&plan.operation, e4m3 ? CUBLAS_COMPUTE_32F : CUBLAS_COMPUTE_32I, sum)) ||
        !set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T))
        return status;
    // cuBLASLt's matrix A is our weights. The heuristic needs both pointers; the one of the weights is set again before
    // each run.
    const std::int32_t rows = kScaleOfARow;
    if (plan.scaled &&
        !(set(kModeOfA, rows) && set(kModeOfB, rows) && set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, xScale) &&
          set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, xScale)))
        return status;
    if (!step(layoutCreate_(&plan.a, element, std::uint64_t(k), std::uint64_t(n), k)) ||
        !step(layoutCreate_(&plan.b, element, std::uint64_t(k), std::uint64_t(m), k)) ||
        !step(layoutCreate_(&plan.c, to, std::uint64_t(n), std::uint64_t(m), n)))
        return status;
    cublasLtMatmulPreference_t preference = nullptr;
    if (!step(preferenceCreate_(&preference))) return status;
    const std::size_t room = kWorkspaceBytes;
    cublasLtMatmulHeuristicResult_t result{};
    int found = 0;
    if (step(preferenceSet_(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &room, sizeof room)) &&
        step(heuristic_(ltHandle_, plan.operation, plan.a, plan.b, plan.c, plan.c, preference, 1, &result, &found)) &&
        (!found || result.state != CUBLAS_STATUS_SUCCESS))
        status = CUBLAS_STATUS_NOT_SUPPORTED;
    preferenceDestroy_(preference);
    plan.algorithm = result.algo;
    return status;
}

Blas::ByteProduct Blas::planBytes(Byte type, std::int64_t m, std::int64_t n, std::int64_t k) const {
    ByteProduct plan;
    plan.type = type;
    const bool e4m3 = type == Byte::E4m3;
    const std::string name = e4m3 ? "fp8" : "int8";
    const cublasStatus_t status = fill(plan, m, n, k, e4m3 ? CUDA_R_32F : CUDA_R_32I, nullptr);
    if (status == CUBLAS_STATUS_NOT_SUPPORTED)
        throw plugin::Refusal(QS_UNIMPLEMENTED, "cuBLASLt has no " + name + " product for this shape and device");
    checkBlas(status, ("cuBLASLt's " + name + " product").c_str());
    return plan;
}

std::optional<Blas::ByteProduct> Blas::planScaled(std::int64_t m, std::int64_t n, std::int64_t k, bool toBf16,
                                                  const float* xScale) const {
    if (!libraries_.noFp8.empty() || ltVersion_() < kRowsAreScaledFrom) return std::nullopt;
    ByteProduct plan;
    plan.type = Byte::E4m3;
    if (fill(plan, m, n, k, toBf16 ? CUDA_R_16BF : CUDA_R_32F, xScale) != CUBLAS_STATUS_SUCCESS) return std::nullopt;
    return plan;
}

void Blas::multiplyBytes(const ByteProduct& plan, const void* x, const void* w, void* to, const float* wScale) {
    const std::int32_t one = 1, none = 0;
    const float oneF32 = 1, noneF32 = 0;
    const bool e4m3 = plan.type == Byte::E4m3;
    if (plan.scaled)
        checkBlas(descSet_(plan.operation, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, &wScale, sizeof wScale),
                  "the scales of cuBLASLt's fp8 product");
    checkBlas(matmul_(ltHandle_, plan.operation, e4m3 ? static_cast<const void*>(&oneF32) : &one, w, plan.a, x, plan.b,
                      e4m3 ? static_cast<const void*>(&noneF32) : &none, to, plan.c, to, plan.c, &plan.algorithm,
                      workspace_.as<void>(), workspace_.bytes(), stream_),
              "cublasLtMatmul");
}

} // namespace qs::cuda
