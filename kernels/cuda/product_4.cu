// SPDX-License-Identifier: GPL-3.0-or-later
// The products for 4-bit codes. A source file of its own, so that files compile in parallel.
#include "kernels/cuda/large.cuh"
#include "kernels/cuda/skinny.cuh"
#include "kernels/cuda/staged.cuh"

namespace qs::cuda {

int skinny4(const DeviceWeight& w, const void* x, SkinnyShape shape, const Target& to, Stream stream) {
    return skinnyByMode<Part<4>>(w, x, shape, to, stream);
}
int staged4(const DeviceWeight& w, const void* x, const StagedShape& shape, const StagedRoom& room, const Target& to,
            Stream stream) {
    return stagedByShape<Part<4>>(w, x, shape, room, to, stream);
}
int large4(const DeviceWeight& w, const void* x, const Target& to, Stream stream) {
    return largeByMode<Part<4>>(w, x, to, stream);
}

} // namespace qs::cuda
