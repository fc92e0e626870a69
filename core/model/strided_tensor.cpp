// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/strided_tensor.h"

#include "core/base/lists.h"
#include "core/base/text.h"
#include "core/model/mapped_file.h"
#include "core/model/model.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <limits>

namespace qs {
namespace {

constexpr std::uint64_t kPiece = std::uint64_t(4) << 20;                                // most bytes read at a time
constexpr std::uint64_t kRepeatedBytes = std::uint64_t(4) << 30, kRepeatedRatio = 1000; // same limits as for HDF5
constexpr std::uint64_t kMostBytes = std::uint64_t(std::numeric_limits<std::int64_t>::max());

/// Copies `count` items of N bytes, `step` bytes apart in the source.
template<std::size_t N> void pick(std::byte* to, const std::byte* from, std::size_t count, std::size_t step) {
    for (std::size_t i = 0; i < count; ++i, to += N, from += step) std::memcpy(to, from, N);
}

/// Size of the elements in bytes, with repeated elements counted each time.
std::uint64_t bytesOf(const StridedLayout& layout) {
    auto bytes = std::uint64_t(info(layout.dtype).bits) / 8;
    for (const auto size : layout.shape) bytes *= std::uint64_t(size);
    return bytes;
}

} // namespace

std::vector<std::int64_t> StridedLayout::contiguousStrides(const std::vector<std::int64_t>& shape) {
    std::vector<std::int64_t> strides(shape.size(), 1);
    for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * std::max<std::int64_t>(shape[i], 1);
    return strides;
}

bool StridedLayout::isContiguous() const {
    std::int64_t expected = 1;
    if (contains(shape, 0)) return true;
    for (std::size_t i = shape.size(); i-- > 0;) {
        if (shape[i] != 1 && strides[i] != expected) return false;
        expected *= shape[i];
    }
    return true;
}

Result<std::uint64_t> StridedLayout::extent() const {
    if (shape.size() != strides.size()) return fail("it has other numbers of sizes and strides");
    std::uint64_t last = 0, elements = 1;
    bool isEmpty = false, overflows = false;
    for (std::size_t i = 0; i < shape.size(); ++i) {
        if (shape[i] < 0 || strides[i] < 0) return fail("it has a negative size or stride");
        isEmpty |= shape[i] == 0;
        const auto size = std::uint64_t(std::max<std::int64_t>(shape[i], 1));
        std::uint64_t reach = 0;
        overflows |= __builtin_mul_overflow(size - 1, std::uint64_t(strides[i]), &reach) ||
                     __builtin_add_overflow(last, reach, &last) || __builtin_mul_overflow(elements, size, &elements) ||
                     elements > kMostBytes / 16;
    }
    const auto item = std::uint64_t(info(dtype).bits) / 8;
    std::uint64_t bytes = 0, end = 0;
    overflows |= __builtin_mul_overflow(last, item, &bytes) || __builtin_add_overflow(bytes, item, &bytes) ||
                 __builtin_add_overflow(offset, bytes, &end) || end > kMostBytes;
    if (overflows) return fail("its sizes and strides overflow");
    return isEmpty ? 0 : bytes;
}

StridedTensor::StridedTensor(std::shared_ptr<MappedFile> file, StridedLayout layout)
    : file_(std::move(file)), layout_(std::move(layout)), item_(std::size_t(info(layout_.dtype).bits) / 8),
      stored_(bytesOf(layout_)), isContiguous_(layout_.isContiguous() && !layout_.isBigEndian) {
    if (layout_.shape.empty()) layout_.shape = layout_.strides = {1};
}

const char* StridedTensor::typeId() const { return info(layout_.dtype).id; }

std::string StridedTensor::description() const {
    if (layout_.isBigEndian) return "big-endian numbers";
    return isContiguous_ ? "unpacked in memory" : "elements in another order in the file (a strided view)";
}

Result<void> StridedTensor::unchanged() const { return file_->unchanged(); }

void StridedTensor::read(std::uint64_t begin, std::span<std::byte> into) const {
    if (isContiguous_) return file_->readInto(layout_.offset + begin, into);
    std::byte one[16];
    while (!into.empty()) {
        const std::uint64_t within = begin % item_;
        std::size_t n = into.size() / item_ * item_;
        if (within == 0 && n > 0)
            gather(begin / item_, into.first(n));
        else { // the range starts or ends inside an element
            n = std::min<std::size_t>(item_ - within, into.size());
            gather(begin / item_, std::span(one).first(item_));
            std::memcpy(into.data(), one + within, n);
        }
        begin += n;
        into = into.subspan(n);
    }
}

void StridedTensor::gather(std::uint64_t element, std::span<std::byte> into) const {
    const auto& shape = layout_.shape;
    const auto& strides = layout_.strides;
    const std::size_t last = shape.size() - 1;
    const auto whole = into;
    std::vector<std::uint64_t> index(shape.size());
    std::uint64_t at = 0; // distance from element 0, in elements
    for (std::size_t i = shape.size(); i-- > 0; element /= std::uint64_t(shape[i])) {
        index[i] = element % std::uint64_t(shape[i]);
        at += index[i] * std::uint64_t(strides[i]);
    }
    const auto stride = std::uint64_t(strides[last]), row = std::uint64_t(shape[last]);
    const std::uint64_t most = std::max<std::uint64_t>(kPiece / (std::max<std::uint64_t>(stride, 1) * item_), 1);
    std::vector<std::byte> scratch;
    while (!into.empty()) {
        const auto count = std::size_t(std::min({row - index[last], std::uint64_t(into.size() / item_), most}));
        const auto from = file_->read(layout_.offset + at * item_, ((count - 1) * stride + 1) * item_, scratch);
        const std::size_t step = stride * item_;
        switch (item_) {
        case 1: pick<1>(into.data(), from.data(), count, step); break;
        case 2: pick<2>(into.data(), from.data(), count, step); break;
        case 4: pick<4>(into.data(), from.data(), count, step); break;
        case 8: pick<8>(into.data(), from.data(), count, step); break;
        default: pick<16>(into.data(), from.data(), count, step); break;
        }
        into = into.subspan(count * item_);
        index[last] += count;
        at += count * stride;
        for (std::size_t i = last; i > 0 && index[i] == std::uint64_t(shape[i]); --i) {
            at -= index[i] * std::uint64_t(strides[i]);
            index[i] = 0;
            ++index[i - 1];
            at += std::uint64_t(strides[i - 1]);
        }
    }
    if (!layout_.isBigEndian) return;
    const std::size_t number = layout_.dtype == DType::C64 ? 4 : item_;
    for (std::size_t i = 0; i < whole.size(); i += number)
        std::reverse(whole.begin() + std::ptrdiff_t(i), whole.begin() + std::ptrdiff_t(i + number));
}

Result<void> placeStrided(TensorInfo& tensor, std::shared_ptr<MappedFile> file, StridedLayout layout, bool isMemory) {
    const auto extent = layout.extent();
    if (!extent) return tl::unexpected(extent.error());
    if (layout.offset > file->size() || *extent > file->size() - layout.offset)
        return fail("its elements lie beyond the end of the file");
    const std::uint64_t declared = bytesOf(layout);
    if (declared > kRepeatedBytes && declared / kRepeatedRatio > *extent)
        return fail(fmt::format("it declares {} where {} are stored (strides of 0 repeat them)", bytesText(declared),
                                bytesText(*extent)));
    tensor.dtype = layout.dtype;
    tensor.shape = layout.shape;
    tensor.elements = 1;
    for (const auto size : layout.shape) tensor.elements *= std::uint64_t(size);
    tensor.bytes = tensor.elements * std::uint64_t(info(layout.dtype).bits) / 8;
    if (!isMemory && layout.isContiguous() && !layout.isBigEndian)
        tensor.offset = layout.offset;
    else
        tensor.derived = std::make_shared<StridedTensor>(std::move(file), std::move(layout));
    return {};
}

} // namespace qs
