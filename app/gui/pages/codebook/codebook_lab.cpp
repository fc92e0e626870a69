// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/codebook/codebook_lab.h"

#include "core/quant/codebook/learn.h"
#include "core/quant/codebook/user_formats.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace qs::gui {

CodebookLab::CodebookLab(QObject* parent) : QObject(parent) {}
bool CodebookLab::edited() const {
    return row_ && !moved_.levels.empty() && moved_.format == row_->spec.format &&
           moved_.levels.size() == row_->levels.size();
}

/// Computes the figures of the current levels.
void CodebookLab::refit() {
    if (ready()) fit_ = edited() ? fitOf(measured_->density, moved_.levels) : gap().fit;
}

void CodebookLab::setRow(const AnalysisRow& row) {
    if (row == row_) return;
    const bool same = row && row_ && row->spec.format == row_->spec.format && row->levels.size() == row_->levels.size();
    row_ = row;
    if (!same) {
        measured_.reset();
        fit_ = {};
    }
    task_.drop();
    if (!row || row->levels.empty()) return Q_EMIT changed();
    using Answer = std::shared_ptr<const Measured>;
    const auto work = [row](const Job&) -> Result<Answer> {
        auto measured = std::make_shared<Measured>();
        measured->density = scaledDensity(*row);
        measured->gap = lloydGap(*row, measured->density);
        return Answer(std::move(measured));
    };
    task_.run({}, work, [this](Answer answer) {
        measured_ = std::move(answer);
        refit();
        Q_EMIT changed();
    });
}

void CodebookLab::setMoved(const MovedLevels& moved) {
    if (moved == moved_) return;
    moved_ = moved;
    refit();
    Q_EMIT changed();
}

void CodebookLab::setLevels(std::vector<double> levels, const QString& how) {
    if (!ready()) return;
    moved_ = {row_->spec.format, std::move(levels), how};
    refit();
    Q_EMIT changed();
    Q_EMIT levelsEdited(moved_);
}

void CodebookLab::moveLevel(int code, double value) {
    if (!ready() || code < 0 || code >= int(fit_.levels.size()) || !std::isfinite(value)) return;
    auto levels = fit_.levels;
    const auto at = std::size_t(code);
    const double least = (levels.back() - levels.front()) * 1e-5; // closer levels count as equal
    const double lowest = at == 0 ? -1e6 : levels[at - 1] + least;
    const double highest = at + 1 == levels.size() ? 1e6 : levels[at + 1] - least;
    if (lowest > highest) return;
    levels[at] = std::clamp(value, lowest, highest);
    setLevels(std::move(levels));
}

void CodebookLab::useBest() {
    if (ready()) setLevels(gap().best);
}

Result<QuantSpec> CodebookLab::learnable() const {
    if (!ready()) return fail("the levels are not measured yet");
    const QuantSpec& own = row_->spec;
    int bits = 0;
    while ((std::size_t(1) << bits) < row_->levels.size()) ++bits;
    if (own.traits().kind != FormatKind::Codebook || (std::size_t(1) << bits) != row_->levels.size() || bits < 2)
        return fail(fmt::format("{} is not a codebook of 4, 8, 16 ... 256 levels: choose codebook, nf4, fp4 or af4",
                                own.format));
    QuantSpec spec;
    spec.format = learnedFormat().id, spec.bits = std::uint32_t(bits);
    spec.scale = own.scale, spec.block = own.block, spec.axes = own.axes, spec.nan = own.nan;
    spec.keepsOutput = own.keepsOutput, spec.flat = own.flat;
    if (own.scaleKind() == ScaleKind::Block) spec.block = own.blockSize();
    if (auto ok = validate(spec); !ok) return tl::unexpected(ok.error());
    return spec;
}

Result<void> CodebookLab::useLevels(const std::vector<float>& learned, const QString& how) {
    if (!ready() || learned.size() != fit_.levels.size())
        return fail("the format was changed while the levels were learned");
    setLevels(std::vector<double>(learned.begin(), learned.end()), how);
    return {};
}

void CodebookLab::reset() {
    if (!ready() || !edited()) return;
    moved_ = {};
    refit();
    Q_EMIT changed();
    Q_EMIT levelsEdited(moved_);
}

Result<QString> CodebookLab::save(const QString& id) const {
    if (!ready()) return fail("the levels are not measured yet");
    const FormatTraits& traits = row_->spec.traits();
    if (traits.kind == FormatKind::Sign || row_->spec.scaleKind() == ScaleKind::None)
        return fail(fmt::format("the levels of {} are not in units of the largest magnitude, as a codebook needs: "
                                "start from nf4, an integer or a float format",
                                specText(row_->spec)));
    // The largest magnitude is the outermost level of integer and float formats, and 1 for codebooks.
    const double range = traits.kind == FormatKind::Codebook ? 1 : double(row_->levels.back());
    UserFormat format;
    format.id = id.toStdString();
    format.title = format.id;
    format.made =
        fmt::format("{} levels, {} from {}", fit_.levels.size(), edited() ? "moved" : "taken", specText(row_->spec));
    for (const double level : fit_.levels)
        if (format.levels.empty() || float(level / range) > format.levels.back())
            format.levels.push_back(float(level / range));
    const auto path = saveUserFormat(format);
    if (!path) return tl::unexpected(path.error());
    return QString::fromStdString(*path);
}

} // namespace qs::gui
