// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/lab_panel.h"

#include "app/gui/theme.h"
#include "core/base/text.h"
#include "core/value/synthetic.h"

#include <QFormLayout>
#include <QHeaderView>
#include <QTableView>
#include <QTimer>

#include <algorithm>
#include <fmt/format.h>
#include <limits>

namespace qs::gui {

QString LabInputs::title() const {
    return file ? QString::fromStdString(escapeForPeople(file->title, 60)) : LabPanel::tr("synthetic");
}

Result<value::Tensor> LabInputs::make(const std::string& name, std::int64_t rows, std::int64_t columns) const {
    if (!file) return value::syntheticInputs(rows, columns, 1);
    const auto fits = [&](const TensorInfo& tensor) {
        return info(tensor.dtype).quantizable && tensor.lastAxis() == columns && tensor.elements > 0;
    };
    const TensorInfo* found = file->find(name);
    if (!found || !fits(*found)) {
        const auto at = std::find_if(file->tensors.begin(), file->tensors.end(), fits);
        found = at == file->tensors.end() ? nullptr : &*at;
    }
    if (!found)
        return fail(fmt::format("no tensor of {} has a last axis of {}: the inputs do not fit this layer",
                                escapeForPeople(file->title, 60), columns));
    auto values = labTensor(*file, *found, true);
    if (!values) return values;
    const std::int64_t kept = std::min(rows, values->shape[0]);
    values->values.resize(std::size_t(kept * columns));
    values->shape[0] = kept;
    return values;
}

LabPanel::LabPanel(Session& session, const LabInputs& inputs, QWidget* parent)
    : QWidget(parent), session_(session), inputs_(inputs) {
    connect(&session, &Session::jobCancelled, this, [this] {
        if (!lane_) return;
        lane_.reset();
        interrupted();
        Q_EMIT settled();
    });
    connect(&session, &Session::tensorChanged, this, &LabPanel::touch);
    connect(&session, &Session::modelChanged, this, &LabPanel::touch);
    connect(&session, &Session::specChanged, this, &LabPanel::touch);
}

LabPanel::~LabPanel() = default;

void LabPanel::touch() {
    touched_ = true;
    if (isVisible()) {
        touched_ = false;
        refresh();
    }
}

void LabPanel::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    if (std::exchange(touched_, false)) refresh();
}

bool LabPanel::small() const {
    const TensorInfo* tensor = session_.tensor();
    return tensor && std::int64_t(tensor->elements) <= kAtOnce;
}

Result<value::Tensor> labTensor(const Model& model, const TensorInfo& tensor, bool flat) {
    const auto view = model.view(tensor);
    if (!view) return tl::unexpected(view.error());
    auto values = value::loadTensor(*view);
    if (values && flat) {
        const std::int64_t last = tensor.lastAxis();
        values->shape = {last ? std::int64_t(tensor.elements) / last : 0, last};
    }
    return values;
}

QFormLayout* labForm(QWidget* parent) {
    auto* form = new QFormLayout(parent);
    form->setContentsMargins({});
    form->setRowWrapPolicy(QFormLayout::WrapAllRows);
    form->setHorizontalSpacing(Theme::kSpace);
    form->setVerticalSpacing(4);
    return form;
}

RankedBar sqnrBar(const std::string& name, const std::optional<value::Deviation>& error, const std::string& reason) {
    RankedBar bar{QString::fromStdString(name), std::numeric_limits<double>::quiet_NaN(), LabPanel::tr("not measured"),
                  QString::fromStdString(reason)};
    if (error && error->exact()) bar.text = bar.reason = LabPanel::tr("exact");
    if (!error) return bar;
    if (const auto value = error->sqnrDb()) {
        bar.value = *value;
        bar.text = QString::fromStdString(fixedText(*value, 2)) + LabPanel::tr(" dB");
    }
    return bar;
}

void fitColumns(QTableView& table) {
    // In a turn of its own: the style measures every cell.
    QTimer::singleShot(0, &table, [&table] {
        table.resizeColumnsToContents();
        table.horizontalHeader()->setStretchLastSection(true);
    });
}

QString sentence(const Error& error) { return QString::fromStdString(oneSentence(error.message)); }

} // namespace qs::gui
