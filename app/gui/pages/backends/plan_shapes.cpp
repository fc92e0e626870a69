// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/backends/plan_shapes.h"

#include "app/gui/pages/backends/plan_list.h"
#include "app/gui/sentence.h"
#include "app/gui/session.h"
#include "app/gui/task.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/tick_list.h"
#include "core/base/text.h"

#include <QLineEdit>
#include <QSignalBlocker>
#include <QVBoxLayout>

namespace qs::gui {
namespace {

// the two largest shapes of a model are ticked at first, because all shapes take minutes
constexpr std::size_t kShapesTicked = 2;

} // namespace

PlanShapes::PlanShapes(QVBoxLayout& column, Session& session, QWidget* parent)
    : QObject(parent), session_(session), list_(addPlanList(column, tr("Shapes N × K"), "planShapes", 72)),
      typed_(named(new QLineEdit, "planAddShape")) {
    typed_->setFont(Theme::code());
    typed_->setPlaceholderText(tr("Add a shape, e.g. 4096x4096"));
    typed_->setAccessibleName(tr("Add a shape, N by K"));
    column.addWidget(typed_);
    connect(typed_, &QLineEdit::returnPressed, this, &PlanShapes::addTyped);
    connect(list_, &QListWidget::itemChanged, this, &PlanShapes::changed);
    connect(&session, &Session::modelChanged, this, &PlanShapes::list);
    list();
}

std::vector<BenchShape> PlanShapes::ticked(std::span<const std::int64_t> ms) const {
    std::vector<BenchShape> out;
    for (int i = 0; i < list_->count(); ++i) {
        if (!list_->ticked(i)) continue;
        const auto& shape = shapes_[std::size_t(i)];
        const std::string tensor = shape.tensors.empty() ? std::string() : shape.tensors.front();
        for (const auto m : ms) out.push_back({m, shape.n, shape.k, tensor});
    }
    return out;
}

void PlanShapes::fit() { list_->fit(); }

void PlanShapes::wishAll() {
    wishesAll_ = true;
    {
        const QSignalBlocker blocker(list_);
        for (int i = 0; i < list_->count(); ++i)
            if (shapes_[std::size_t(i)].count > 0) list_->tick(i);
    }
    Q_EMIT changed();
}

void PlanShapes::addTyped() {
    const auto shape = parseShape("1x" + typed_->text().trimmed().toStdString());
    if (!shape) return Q_EMIT complained(errorSentence(shape.error()));
    shapes_.push_back({shape->n, shape->k, 0, {}});
    list_->add(QStringLiteral("%1 × %2").arg(shape->n).arg(shape->k), true);
    typed_->clear();
    Q_EMIT changed();
}

void PlanShapes::list() {
    const auto show = [this](std::vector<ModelShape> shapes) {
        if (shapes.empty()) shapes = {{4096, 4096, 0, {}}, {1024, 1024, 0, {}}};
        shapes_ = std::move(shapes);
        const QSignalBlocker blocker(list_);
        list_->clear();
        for (std::size_t i = 0; i < shapes_.size(); ++i) {
            const auto& shape = shapes_[i];
            QString text = QStringLiteral("%1 × %2").arg(shape.n).arg(shape.k);
            if (shape.count > 0) text += tr("   %1×").arg(shape.count);
            QStringList names;
            for (const auto& name : shape.tensors)
                if (names.size() < 8) names << QString::fromStdString(escapeForPeople(name, 80));
            list_->add(text, i < kShapesTicked || wishesAll_, names.join(u'\n'));
        }
        Q_EMIT changed();
    };
    if (!session_.model()) return show({});
    const auto work = [model = session_.model()](const Job&) -> Result<std::vector<ModelShape>> {
        return modelShapes(*model);
    };
    Task::once(this, work, show);
}

} // namespace qs::gui
