// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/value/inputs.h"

#include "core/base/text.h"
#include "core/layouts/serve.h"
#include "core/model/mapped_file.h"
#include "core/value/npy.h"
#include "core/value/synthetic.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

namespace qs::value {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t(8) << 30;
constexpr std::int64_t kQueries = 64;

Tensor asRows(Tensor tensor, std::int64_t rows) {
    const std::int64_t columns = tensor.shape.empty() ? 1 : tensor.shape.back();
    const std::int64_t all = columns ? std::int64_t(tensor.values.size()) / columns : 0;
    const std::int64_t kept = std::min(rows, all);
    tensor.values.resize(std::size_t(kept * columns));
    tensor.shape = {kept, columns};
    tensor.dtype = DType::F32;
    return tensor;
}

Result<void> dropLeadingOne(Tensor& tensor, const char* what) {
    if (tensor.rank() == 4 && tensor.shape[0] == 1) tensor.shape.erase(tensor.shape.begin());
    tensor.dtype = DType::F32;
    if (tensor.rank() == 3 && !tensor.values.empty()) return {};
    return fail(fmt::format("{} is {}: it must be [heads, tokens, head size]", what, shapeText(tensor.shape)));
}

/// Attention depends on how keys differ: the mean of all keys is subtracted.
Tensor queriesLike(const Tensor& k) {
    const std::int64_t heads = k.shape[0], tokens = k.shape[1], dim = k.shape[2], count = std::min(tokens, kQueries);
    Tensor q{{heads, count, dim}, std::vector<float>(std::size_t(heads * count * dim)), DType::F32};
    for (std::int64_t h = 0; h < heads; ++h) {
        for (std::int64_t d = 0; d < dim; ++d) {
            double mean = 0;
            for (std::int64_t t = 0; t < tokens; ++t) mean += double(k.values[std::size_t((h * tokens + t) * dim + d)]);
            mean /= double(tokens);
            for (std::int64_t t = 0; t < count; ++t)
                q.values[std::size_t((h * count + t) * dim + d)] =
                    float(double(k.values[std::size_t((h * tokens + tokens - count + t) * dim + d)]) - mean);
        }
    }
    return q;
}

} // namespace

Result<std::shared_ptr<const InputFile>> InputFile::open(const std::string& path) {
    auto out = std::make_shared<InputFile>();
    const std::filesystem::path file(path);
    out->title_ = file.filename().string();
    if (file.extension() != ".npy") {
        auto model = openModel(path);
        if (!model) return tl::unexpected(model.error());
        out->source_ = *model;
        auto served = servedModel(*model, Job{});
        if (!served) return tl::unexpected(served.error());
        out->model_ = std::move(*served);
        out->title_ = out->model_->title;
        return out;
    }
    auto mapping = MappedFile::open(path);
    if (!mapping) return tl::unexpected(mapping.error());
    if ((*mapping)->size() > kMostBytes) return fail("the file is larger than 8 GiB", path);
    std::vector<std::byte> bytes((*mapping)->size());
    (*mapping)->readInto(0, bytes);
    if (auto same = (*mapping)->unchanged(); !same) return tl::unexpected(same.error());
    auto array = parseNpy(bytes);
    if (!array) return fail(fmt::format("{}: {}", escapeForPeople(path, 160), array.error().sentence()), path);
    out->array_ = std::move(*array);
    out->name_ = file.stem().string();
    return out;
}

Result<Tensor> InputFile::take(const std::string& name, std::int64_t rows, std::int64_t columns) const {
    const auto none = [&] {
        return fail(fmt::format("no tensor of {} has a last axis of {}: the inputs do not fit this layer",
                                escapeForPeople(title_, 60), columns));
    };
    if (!model_) {
        if (array_.shape.empty() || array_.shape.back() != columns || array_.values.empty()) return none();
        return asRows(array_, rows);
    }
    const auto fits = [&](const TensorInfo& tensor) {
        return info(tensor.dtype).quantizable && !tensor.shape.empty() && tensor.lastAxis() == columns &&
               tensor.elements > 0;
    };
    const TensorInfo* found = model_->find(name);
    if (!found || !fits(*found)) {
        const auto at = std::ranges::find_if(model_->tensors, fits);
        found = at == model_->tensors.end() ? nullptr : &*at;
    }
    if (!found) return none();
    const auto view = model_->view(*found);
    if (!view) return tl::unexpected(view.error());
    auto values = loadTensor(*view);
    if (!values) return values;
    return asRows(std::move(*values), rows);
}

Result<KvPlan> InputFile::keysAndValues() const {
    const auto find = [&](const std::string& letter) -> const TensorInfo* {
        if (!model_) return nullptr;
        if (const auto* whole = model_->find(letter)) return whole;
        for (const auto& tensor : model_->tensors)
            if (tensor.name.ends_with('.' + letter) && info(tensor.dtype).quantizable) return &tensor;
        return nullptr;
    };
    KvPlan plan;
    if (const auto* k = find("k"); k && (k->shape.size() == 3 || k->shape.size() == 4)) {
        const auto at = [&](std::size_t fromEnd) { return std::uint64_t(k->shape[k->shape.size() - fromEnd]); };
        const auto* q = find("q");
        const auto queries =
            q && q->shape.size() >= 2 ? std::uint64_t(q->shape[q->shape.size() - 2]) : std::uint64_t(kQueries);
        if (auto fits = fitsMemory(kvNeed(at(3), at(2), at(1), queries)); !fits) return tl::unexpected(fits.error());
    }
    const std::initializer_list<std::pair<const char*, Tensor*>> wanted = {
        {"k", &plan.k}, {"v", &plan.v}, {"q", &plan.q}};
    for (const auto& [letter, into] : wanted) {
        const TensorInfo* tensor = find(letter);
        if (!tensor && into == &plan.q) {
            plan.q = queriesLike(plan.k);
            continue;
        }
        if (!tensor)
            return fail(fmt::format("{} has no tensor named {}: K and V blocks are tensors k and v of [heads, tokens, "
                                    "head size], q may be with them",
                                    escapeForPeople(title_, 60), letter));
        const auto view = model_->view(*tensor);
        if (!view) return tl::unexpected(view.error());
        auto values = loadTensor(*view);
        if (!values) return tl::unexpected(values.error());
        *into = std::move(*values);
        if (auto fine = dropLeadingOne(*into, letter); !fine) return tl::unexpected(fine.error());
    }
    plan.specs.assign(kvSpecs().begin(), kvSpecs().end());
    return plan;
}

void sameRows(Tensor& x, Tensor& g) {
    const std::int64_t rows = std::min(x.shape[0], g.shape[0]);
    x = asRows(std::move(x), rows), g = asRows(std::move(g), rows);
}

Result<Tensor> inputsFor(const InputFile* file, const std::string& name, std::int64_t rows, std::int64_t columns) {
    return file ? file->take(name, rows, columns) : syntheticInputs(rows, columns, 1);
}

Result<Tensor> gradientsFor(const InputFile* file, const std::string& name, std::int64_t rows, std::int64_t columns) {
    return file ? file->take(name, rows, columns) : syntheticGradients(rows, columns, 2);
}

} // namespace qs::value
