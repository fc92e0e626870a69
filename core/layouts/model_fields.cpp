// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/layouts/model_fields.h"

#include "core/base/text.h"
#include "core/layouts/conv1d.h"
#include "core/layouts/taken_tensors.h"
#include "core/layouts/write_model.h"

#include <fmt/format.h>
#include <numeric>

namespace qs {
namespace {

// With very many tensors, measurements of small tensors are not kept. They are measured again when they are needed.
constexpr std::size_t kManyTaken = 1024;
constexpr std::uint64_t kMeasuredAgain = std::uint64_t(1) << 16; ///< elements: reading larger ones again takes time

} // namespace

Result<TensorInLayout> inLayout(const Layout& layout, MeasuredTensor tensor) {
    auto ok = layout.holds ? layout.holds(tensor.info()) : Result<void>{};
    if (ok) ok = layout.accepts(tensor.spec(), tensor.info().shape);
    if (!ok) return failAt(fmt::format("tensor '{}'", escapeForPeople(tensor.info().name)), ok.error());
    auto fields = layout.fields(tensor);
    if (!fields) return tl::unexpected(fields.error());
    return TensorInLayout{std::move(tensor), std::move(*fields)};
}

std::uint64_t bytesOf(const OutputFields& fields) {
    return std::accumulate(fields.list.begin(), fields.list.end(), std::uint64_t(0),
                           [](std::uint64_t sum, const OutputField& field) {
                               return sum + bytesOf(TensorToWrite{"", field.dtype, field.shape, {}, field.packed});
                           });
}

Result<std::uint64_t> bytesInLayout(const Model& model, const TensorInfo& tensor, const QuantSpec& spec,
                                    const Layout& layout, const Job& job) {
    if (auto fine = checkWritable(tensor, spec, layout); !fine) return tl::unexpected(fine.error());
    const auto other = isTurned(layout, tensor) ? turned(model, tensor) : nullptr;
    const TensorInfo& written = other ? *other : tensor;
    const auto view = model.view(written);
    if (!view) return tl::unexpected(view.error());
    auto measured = MeasuredTensor::of(*view, forTensor(spec, written), job);
    if (!measured) return tl::unexpected(measured.error());
    const auto made = inLayout(layout, std::move(*measured));
    if (!made) return tl::unexpected(made.error());
    return bytesOf(made->fields);
}

Result<TensorInLayout> ModelFields::make(std::uint32_t index) {
    const TakenTensor& taken = taken_[index];
    const auto view = model_.view(*taken.tensor);
    if (!view) return tl::unexpected(view.error());
    auto tensor = MeasuredTensor::of(*view, taken.spec(), job_);
    if (!tensor) return tl::unexpected(tensor.error());
    if (solve_) {
        auto& solved = solved_[index];
        if (!solved) {
            auto decided = solve_(*view);
            if (!decided) return tl::unexpected(decided.error());
            solved = std::move(*decided);
        }
        tensor->setSolved(solved);
    }
    if (taken.spec().effectiveNan() != NanPolicy::Skip) tensor->refuseNonFinite(nonFinite_);
    if (const auto kept = scales_.find(index); kept != scales_.end()) tensor->setScales(kept->second);
    return inLayout(layout_, std::move(*tensor));
}

Result<TensorInLayout*> ModelFields::of(std::uint32_t index) {
    if (last_ && index_ == index) return &*last_;
    leave();
    auto made = make(index);
    if (!made) return tl::unexpected(made.error());
    last_ = std::move(*made), index_ = index;
    return &*last_;
}

Result<std::uint64_t> ModelFields::list(std::uint32_t index, std::uint32_t source, TensorsToWrite& file) {
    const auto made = of(index);
    if (!made) return tl::unexpected(made.error());
    const OutputFields& fields = (*made)->fields;
    const bool isTogether = areWrittenTogether((*made)->tensor, fields);
    for (std::uint32_t number = 0; number < fields.list.size(); ++number) {
        const OutputField& field = fields.list[number];
        file.add(source, number, field.name, {field.dtype, field.shape, field.packed, isTogether});
    }
    return bytesOf(fields);
}

Result<TensorToWrite> ModelFields::field(std::uint32_t index, std::uint32_t number) {
    const auto made = of(index);
    if (!made) return tl::unexpected(made.error());
    const OutputField& field = (*made)->fields.list[number];
    std::shared_ptr<ProducedTogether> together;
    if (areWrittenTogether((*made)->tensor, (*made)->fields)) {
        together = std::make_shared<ProducedTogether>();
        together->produce = [this, index](auto places) -> Result<void> {
            const auto one = of(index);
            if (!one) return tl::unexpected(one.error());
            const auto done = writeFields((*one)->tensor, (*one)->fields.list, places);
            (*one)->tensor.dropPass();
            return done;
        };
    }
    const auto produce = [this, index, number](const TensorToWrite::Sink& sink) -> Result<void> {
        const auto one = of(index);
        if (!one) return tl::unexpected(one.error());
        return writeField((*one)->tensor, (*one)->fields.list[number], sink);
    };
    return TensorToWrite{field.name, field.dtype, field.shape, produce, field.packed, std::move(together)};
}

bool ModelFields::hasColumnScales(std::uint32_t index) const {
    const auto found = solved_.find(index);
    return found != solved_.end() && !found->second->columnScales.empty();
}

void ModelFields::leave() {
    if (!last_) return;
    const MeasuredTensor& tensor = last_->tensor;
    if (!tensor.warnings().empty()) warnings_[index_] = tensor.warnings();
    if (tensor.scales() && (taken_.size() <= kManyTaken || tensor.info().elements >= kMeasuredAgain))
        scales_[index_] = tensor.scales();
    last_.reset();
}

std::vector<std::string> ModelFields::warningsOf(std::uint32_t index) const {
    const auto found = warnings_.find(index);
    return found == warnings_.end() ? std::vector<std::string>() : found->second;
}

} // namespace qs
