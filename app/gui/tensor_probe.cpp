// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/tensor_probe.h"

#include <algorithm>

namespace qs::gui {
namespace {
constexpr std::size_t kRemembered = 12; // answers; each takes about 1.3 MiB
}

TensorProbe::TensorProbe(QObject* parent) : QObject(parent) {
    connect(&task_, &Task::failed, this, &TensorProbe::failed);
}

void TensorProbe::forget() {
    cancel();
    remembered_.clear();
}

void TensorProbe::ask(const std::shared_ptr<const Model>& model, const TensorInfo& tensor, const QuantSpec& spec,
                      const std::shared_ptr<const TensorStatistics>& known,
                      const decltype(AnalysisOptions::inputs)& inputs, DecodedAs decodedAs) {
    cancel();
    const auto key = canonicalText(spec);
    const auto same = [&](const Remembered& r) { return r.tensor == tensor.name && r.spec == key; };
    if (auto found = std::ranges::find_if(remembered_, same); found != remembered_.end()) {
        Q_EMIT answered(AnalysisRow(found->row));
        return;
    }
    ++begun_;
    const auto work = [model, &tensor, spec, known, inputs, decodedAs,
                       ended = ended_](const Job& job) -> Result<AnalysisRow> {
        AnalysisOptions options;
        options.detail = Detail::Inspect;
        options.statistics = !known;
        options.inputs = inputs;
        options.decodedAs = decodedAs;
        auto result = analyseTensor(*model, tensor, spec, options, job);
        if (!result) return tl::unexpected(result.error());
        ++*ended;
        if (known && !result->statistics) result->statistics = *known;
        if (result->specAsTyped.empty()) result->specAsTyped = specText(spec);
        return std::make_shared<const TensorAnalysis>(std::move(*result));
    };
    task_.run({}, work, [this, key](const AnalysisRow& row) {
        remembered_.push_front({row->tensor, key, row});
        if (remembered_.size() > kRemembered) remembered_.pop_back();
        Q_EMIT answered(row);
    });
}

} // namespace qs::gui
