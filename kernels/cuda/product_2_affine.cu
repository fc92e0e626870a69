// SPDX-License-Identifier: GPL-3.0-or-later
// The products for 2-bit codes in affine tiles. A source file of its own, so that files compile in parallel.
#include "kernels/cuda/large.cuh"
#include "kernels/cuda/skinny.cuh"
#include "kernels/cuda/staged.cuh"

namespace qs::cuda {

int skinny2Affine(const DeviceWeight& w, const void* x, SkinnyShape shape, const Target& to, Stream stream) {
    return skinnyByMode<Affine2>(w, x, shape, to, stream);
}
int staged2Affine(const DeviceWeight& w, const void* x, const StagedShape& shape, const StagedRoom& room,
                  const Target& to, Stream stream) {
    return stagedByShape<Affine2>(w, x, shape, room, to, stream);
}
int large2Affine(const DeviceWeight& w, const void* x, const Target& to, Stream stream) {
    return largeByMode<Affine2>(w, x, to, stream);
}

} // namespace qs::cuda
