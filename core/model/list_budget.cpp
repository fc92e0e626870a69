// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/list_budget.h"

#include <fmt/format.h>

namespace qs {
namespace {

// The part of the 64 MiB that lists may use. The rest is for buffers, for sorting and for displaying the list.
constexpr std::uint64_t kFree = std::uint64_t(48) << 20;
// Memory of a node of std::map<std::string, std::string> without its texts.
constexpr std::uint64_t kMapNode = 32 + 2 * sizeof(std::string);
/// Bytes assumed for each tensor of earlier files: a row, a shape and a name.
constexpr std::uint64_t kUsualTensor = sizeof(TensorInfo) + 32 + 64;

std::uint64_t limitOf(std::uint64_t bytes, std::uint64_t held) {
    const std::uint64_t all = std::min(bytes, std::uint64_t(1) << 62) * 2 + kFree;
    return all > held ? all - held : 0;
}

} // namespace

ListBudget::ListBudget(std::uint64_t fileBytes, std::uint64_t held)
    : fileBytes_(fileBytes), limit_(limitOf(fileBytes, held)) {}

ListBudget::ListBudget(const Model& model, std::uint64_t fileBytes, std::uint64_t held) : ListBudget(fileBytes, held) {
    for (const auto& file : model.files) fileBytes_ += file.size;
    limit_ = limitOf(fileBytes_, held);
    used_ = model.tensors.size() * kUsualTensor;
}

bool ListBudget::takeEntry(const std::string& key, const std::string& value) {
    return take(heap(kMapNode) + heap(key.size() + 1) + heap(value.size() + 1));
}

std::string ListBudget::why(const char* what) const {
    return fmt::format("{} takes more memory than twice the {} bytes and 64 MiB, which no model that is used needs",
                       what, fileBytes_);
}

std::uint64_t ListBudget::heap(std::uint64_t bytes) { return std::max<std::uint64_t>(32, (bytes + 8 + 15) & ~15ull); }

std::uint64_t ListBudget::of(const TensorInfo& tensor) {
    constexpr std::uint64_t perShape = 48; // of TensorShape::Shared, without the sizes
    const auto sizes = tensor.shape.ownSizes();
    return sizeof tensor + tensor.name.size() + 1 + (sizes ? perShape + heap(sizes * 8) : 0);
}

} // namespace qs
