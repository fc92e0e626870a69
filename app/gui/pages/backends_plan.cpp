// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/backends_plan.h"

#include "app/gui/pages/spec_set_view.h"
#include "app/gui/run_job.h"
#include "app/gui/session.h"
#include "app/gui/theme.h"
#include "core/base/text.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QFileDialog>
#include <QFileInfo>
#include <QGridLayout>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QPushButton>
#include <QRegularExpression>
#include <QVBoxLayout>

#include <algorithm>

namespace qs::gui {
namespace {

constexpr int kItem = 22;                // px
constexpr std::size_t kShapesTicked = 2; // of a model at first: the largest ones; a run of all takes minutes

QString textOf(const QuantSpec& spec) { return QString::fromStdString(specText(spec)); }

QLabel* caption(const QString& text) {
    auto* label = new QLabel(text);
    label->setFont(Theme::words(11));
    label->setProperty("role", QStringLiteral("muted"));
    return label;
}

QListWidgetItem* addItem(QListWidget* list, const QString& text, bool on, const QString& tip = {}) {
    auto* item = new QListWidgetItem(text, list);
    item->setSizeHint({0, kItem});
    item->setFlags(Qt::ItemIsEnabled | Qt::ItemIsSelectable | Qt::ItemIsUserCheckable);
    item->setCheckState(on ? Qt::Checked : Qt::Unchecked);
    item->setToolTip(tip);
    return item;
}

/// As high as what it lists, so that a tall window does not tear the plan apart.
void fit(QListWidget* list) { list->setMaximumHeight(std::max(list->minimumHeight(), list->count() * kItem + 6)); }

bool ticked(const QListWidget* list, int row) { return list->item(row)->checkState() == Qt::Checked; }

} // namespace

QListWidget* BackendsPlan::list(QVBoxLayout* column, const QString& title, const char* name, int height) {
    auto* widget = new QListWidget;
    widget->setObjectName(QLatin1String(name));
    widget->setAccessibleName(title);
    widget->setFont(Theme::numbers());
    widget->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    widget->setTextElideMode(Qt::ElideMiddle);
    widget->setMinimumHeight(height);
    connect(widget, &QListWidget::itemChanged, this, [this] {
        estimate();
        Q_EMIT changed();
    });
    column->addWidget(caption(title));
    column->addWidget(widget, height);
    return widget;
}

BackendsPlan::BackendsPlan(Session& session, QWidget* parent) : QWidget(parent), session_(session) {
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(4);
    backends_ = list(column, tr("Backends"), "planBackends", 92);
    auto* plugin = new QPushButton(tr("Add a plugin…"));
    plugin->setToolTip(tr("A shared library that exports quantscope_backend_query"));
    connect(plugin, &QPushButton::clicked, this, [this] {
        const QString path = QFileDialog::getOpenFileName(this, tr("A backend plugin"), {}, tr("Plugins (*.so)"));
        if (!path.isEmpty()) addPlugin(path);
    });
    column->addWidget(plugin);

    specList_ = list(column, tr("Weights"), "planSpecs", 112);
    addSpec_ = new QLineEdit;
    addSpec_->setObjectName(QStringLiteral("planAddSpec"));
    addSpec_->setFont(Theme::numbers());
    addSpec_->setPlaceholderText(tr("Add a spec, e.g. nf4:block=32"));
    addSpec_->setAccessibleName(tr("Add a spec"));
    connect(addSpec_, &QLineEdit::returnPressed, this, [this] {
        const auto spec = parseSpec(addSpec_->text().trimmed().toStdString());
        if (!spec) return complaint_->setText(QString::fromStdString(oneSentence(spec.error().message)));
        specs_.emplace_back(addSpec_->text().trimmed().toStdString(), *spec);
        addItem(specList_, addSpec_->text().trimmed(), true);
        addSpec_->clear();
        estimate();
    });
    column->addWidget(addSpec_);

    shapeList_ = list(column, tr("Shapes N × K"), "planShapes", 92);
    addShape_ = new QLineEdit;
    addShape_->setObjectName(QStringLiteral("planAddShape"));
    addShape_->setFont(Theme::numbers());
    addShape_->setPlaceholderText(tr("Add a shape, e.g. 4096x4096"));
    addShape_->setAccessibleName(tr("Add a shape, N by K"));
    connect(addShape_, &QLineEdit::returnPressed, this, [this] {
        const auto shape = parseShape("1x" + addShape_->text().trimmed().toStdString());
        if (!shape) return complaint_->setText(QString::fromStdString(oneSentence(shape.error().message)));
        shapes_.push_back({shape->n, shape->k, 0, {}});
        addItem(shapeList_, QStringLiteral("%1 × %2").arg(shape->n).arg(shape->k), true);
        addShape_->clear();
        estimate();
    });
    column->addWidget(addShape_);

    auto* grid = new QGridLayout;
    grid->setContentsMargins(0, 4, 0, 0);
    grid->setHorizontalSpacing(Theme::kSpace);
    grid->setVerticalSpacing(4);
    grid->setColumnStretch(1, 1);
    const auto line = [&](const QString& title, QWidget* widget, const char* name) {
        widget->setObjectName(QLatin1String(name));
        widget->setAccessibleName(title);
        grid->addWidget(caption(title), grid->rowCount(), 0);
        grid->addWidget(widget, grid->rowCount() - 1, 1);
    };
    ms_ = new QLineEdit(QStringLiteral("1 4 16 64"));
    ms_->setFont(Theme::numbers());
    ms_->setToolTip(tr("Rows of x: tokens at once; numbers from 1 to 4096"));
    line(tr("M"), ms_, "planM");
    op_ = new QComboBox;
    for (const auto& op : benchOps()) {
        op_->addItem(QString::fromUtf8(op.title), QString::fromUtf8(op.id));
        op_->setItemData(op_->count() - 1, QString::fromUtf8(op.summary), Qt::ToolTipRole);
    }
    line(tr("Operation"), op_, "planOp");
    act_ = new QComboBox;
    for (const auto& act : benchActs()) {
        act_->addItem(QString::fromUtf8(act.id), QString::fromUtf8(act.id));
        act_->setItemData(act_->count() - 1, QString::fromUtf8(act.title), Qt::ToolTipRole);
    }
    line(tr("Activations"), act_, "planAct");
    cache_ = new QComboBox;
    cache_->addItem(tr("cold: from memory"));
    cache_->addItem(tr("warm: one copy"));
    cache_->addItem(tr("both"));
    line(tr("Cache"), cache_, "planCache");
    seconds_ = new QDoubleSpinBox;
    seconds_->setRange(0.05, 60);
    seconds_->setValue(0.3);
    seconds_->setSingleStep(0.1);
    seconds_->setSuffix(tr(" s a row"));
    seconds_->setFont(Theme::numbers());
    line(tr("Time"), seconds_, "planSeconds");
    bias_ = new QCheckBox(tr("with a bias"));
    line({}, bias_, "planBias");
    bias_->setAccessibleName(tr("With a bias"));
    column->addLayout(grid);
    column->addSpacing(4);

    note_ = new QLabel;
    note_->setObjectName(QStringLiteral("planNote"));
    note_->setFont(Theme::numbers(10));
    note_->setProperty("role", QStringLiteral("muted"));
    note_->setWordWrap(true);
    complaint_ = new QLabel;
    complaint_->setObjectName(QStringLiteral("planComplaint"));
    complaint_->setFont(Theme::words(11));
    complaint_->setProperty("role", QStringLiteral("warn"));
    complaint_->setWordWrap(true);
    column->addWidget(note_);
    column->addWidget(complaint_);
    auto* buttons = new QHBoxLayout;
    run_ = new QPushButton(tr("Run"));
    run_->setObjectName(QStringLiteral("runBench"));
    run_->setProperty("role", QStringLiteral("primary"));
    cancel_ = new QPushButton(tr("Cancel"));
    cancel_->setObjectName(QStringLiteral("cancelBench"));
    auto* ask = new QPushButton(tr("Ask"));
    ask->setObjectName(QStringLiteral("askBackends"));
    ask->setToolTip(tr("Which backend could run which spec, without timing anything"));
    buttons->addWidget(run_, 1);
    buttons->addWidget(cancel_, 1);
    buttons->addWidget(ask);
    column->addLayout(buttons);
    column->addStretch(1);
    connect(run_, &QPushButton::clicked, this, &BackendsPlan::runAsked);
    connect(cancel_, &QPushButton::clicked, this, &BackendsPlan::cancelAsked);
    connect(ask, &QPushButton::clicked, this, &BackendsPlan::askAsked);
    for (auto* box : {op_, act_, cache_})
        connect(box, &QComboBox::currentIndexChanged, this, [this] {
            estimate();
            Q_EMIT changed();
        });
    connect(ms_, &QLineEdit::textChanged, this, &BackendsPlan::estimate);
    connect(seconds_, &QDoubleSpinBox::valueChanged, this, &BackendsPlan::estimate);
    connect(&session, &Session::modelChanged, this, &BackendsPlan::listShapes);
    connect(&session, &Session::specChanged, this, &BackendsPlan::listSpecs);
    listBackends();
    listSpecs();
    listShapes();
    setRunning(false);
}

void BackendsPlan::listBackends() {
    std::vector<std::string> off, paths;
    for (int i = 0; i < backends_->count(); ++i)
        if (!ticked(backends_, i)) off.push_back(sources_[std::size_t(i)].id);
    for (const auto& path : plugins_) paths.push_back(path.toStdString());
    sources_ = backendSources(paths);
    const QSignalBlocker blocker(backends_);
    backends_->clear();
    for (const auto& source : sources_) {
        QString text = QString::fromStdString(escapeForPeople(source.id, 40));
        if (!source.built) text += tr("   not built");
        const bool on = source.built && std::find(off.begin(), off.end(), source.id) == off.end();
        addItem(backends_, text, on, QString::fromStdString(escapeForPeople(source.path, 200)));
    }
}

void BackendsPlan::addPlugin(const QString& path) {
    if (!plugins_.contains(path)) plugins_ << path;
    listBackends();
    estimate();
    Q_EMIT changed();
}

/// A and B first, then formats that do not quantize, then one spec of each of the others. At first A, another format and the widest
/// are ticked; later what was ticked stays so.
void BackendsPlan::listSpecs() {
    std::vector<std::string> on = {specText(session_.spec())};
    const auto presets = SpecSetView::presets();
    if (specList_->count() > 0) {
        for (int i = 0; i < specList_->count(); ++i)
            if (ticked(specList_, i)) on.push_back(specs_[std::size_t(i)].first);
    } else {
        const auto other = std::find_if(presets.begin(), presets.end(),
                                        [&](const auto& spec) { return spec.format != session_.spec().format; });
        if (other != presets.end()) on.push_back(specText(*other));
        const auto widest = std::max_element(formats().begin(), formats().end(),
                                             [](const auto& a, const auto& b) { return a.bits < b.bits; });
        on.push_back(widest->id);
    }
    std::vector<std::pair<std::string, QuantSpec>> all;
    const auto add = [&](const QuantSpec& spec) {
        const auto same = [&](const auto& other) { return canonicalText(other.second) == canonicalText(spec); };
        if (std::none_of(all.begin(), all.end(), same)) all.emplace_back(specText(spec), spec);
    };
    add(session_.spec());
    if (session_.comparing()) add(session_.specB());
    for (const auto& format : formats()) {
        if (format.kind != FormatKind::Identity) continue;
        QuantSpec spec;
        spec.format = format.id;
        add(spec);
    }
    for (const auto& spec : presets) add(spec);
    for (const auto& [text, spec] : specs_) add(spec);
    specs_ = std::move(all);
    const QSignalBlocker blocker(specList_);
    specList_->clear();
    for (const auto& [text, spec] : specs_)
        addItem(specList_, textOf(spec), std::find(on.begin(), on.end(), text) != on.end(),
                QString::fromStdString(canonicalText(spec)));
    estimate();
}

void BackendsPlan::listShapes() {
    const auto show = [this](std::vector<ModelShape> shapes) {
        if (shapes.empty()) shapes = {{4096, 4096, 0, {}}, {1024, 1024, 0, {}}};
        shapes_ = std::move(shapes);
        const QSignalBlocker blocker(shapeList_);
        shapeList_->clear();
        for (std::size_t i = 0; i < shapes_.size(); ++i) {
            const auto& shape = shapes_[i];
            QString text = QStringLiteral("%1 × %2").arg(shape.n).arg(shape.k);
            if (shape.count > 0) text += tr("   %1×").arg(shape.count);
            QStringList names;
            for (const auto& name : shape.tensors)
                if (names.size() < 8) names << QString::fromStdString(escapeForPeople(name, 80));
            addItem(shapeList_, text, i < kShapesTicked, names.join(u'\n'));
        }
        estimate();
        Q_EMIT changed();
    };
    if (!session_.model()) return show({});
    const auto work = [model = session_.model()](const Job&) -> Result<std::vector<ModelShape>> {
        return modelShapes(*model);
    };
    runJob<std::vector<ModelShape>>(this, Job(), work, [show](Result<std::vector<ModelShape>> shapes) {
        if (shapes) show(std::move(*shapes));
    });
}

Result<BenchmarkPlan> BackendsPlan::plan() const {
    BenchmarkPlan plan;
    plan.ops = {op_->currentData().toString().toStdString()};
    plan.acts = {act_->currentData().toString().toStdString()};
    plan.caches = cache_->currentIndex() == 2   ? std::vector{CacheState::Cold, CacheState::Warm}
                  : cache_->currentIndex() == 1 ? std::vector{CacheState::Warm}
                                                : std::vector{CacheState::Cold};
    plan.bias = bias_->isChecked();
    plan.secondsPerRow = seconds_->value();
    plan.artifacts = true;
    plan.model = session_.model();
    plan.commandLine = "quantscope";
    for (int i = 0; i < specList_->count(); ++i)
        if (ticked(specList_, i)) plan.specs.push_back(specs_[std::size_t(i)]);
    for (int i = 0; i < backends_->count(); ++i)
        if (ticked(backends_, i)) plan.backends.push_back(sources_[std::size_t(i)]);
    const auto* op = findBenchOp(plan.ops.front());
    std::vector<std::int64_t> ms;
    const auto words = ms_->text().split(QRegularExpression(QStringLiteral("[^0-9]+")), Qt::SkipEmptyParts);
    for (const auto& word : words) ms.push_back(word.toLongLong());
    if (op && !op->product) ms = {1};
    if (ms.empty() || *std::min_element(ms.begin(), ms.end()) < 1 || *std::max_element(ms.begin(), ms.end()) > 4096)
        return fail("M must be one or more numbers from 1 to 4096");
    std::sort(ms.begin(), ms.end());
    ms.erase(std::unique(ms.begin(), ms.end()), ms.end());
    for (int i = 0; i < shapeList_->count(); ++i) {
        if (!ticked(shapeList_, i)) continue;
        const auto& shape = shapes_[std::size_t(i)];
        const std::string tensor = op && !op->wIsKn && !shape.tensors.empty() ? shape.tensors.front() : std::string();
        for (const auto m : ms) plan.shapes.push_back({m, shape.n, shape.k, tensor});
    }
    if (plan.backends.empty()) return fail("choose at least one backend");
    if (plan.specs.empty()) return fail("choose at least one format of the weights");
    if (plan.shapes.empty()) return fail("choose at least one shape");
    if (auto usable = checkPlan(plan); !usable) return tl::unexpected(usable.error());
    return plan;
}

void BackendsPlan::estimate() {
    if (!cancel_) return; // still being built
    for (auto* list : {backends_, specList_, shapeList_}) fit(list);
    const auto planned = plan();
    complaint_->setText(planned ? QString() : QString::fromStdString(oneSentence(planned.error().message)));
    complaint_->setVisible(!planned);
    note_->setVisible(bool(planned));
    if (planned) {
        std::size_t rows = 0, timed = 0;
        bool known = true;
        for (const auto& backend : planned->backends)
            for (const auto& [text, spec] : planned->specs) {
                const auto answer = variants_.find({backend.id, text});
                known &= answer != variants_.end();
                const auto variants = answer == variants_.end() ? 1 : answer->second;
                rows += std::max<std::size_t>(1, variants); // none: a row that says why
                timed += variants;
            }
        const auto each = planned->shapes.size() * planned->caches.size();
        const auto time = QString::fromStdString(durationText(double(timed * each) * planned->secondsPerRow));
        note_->setText((known ? tr("%1 rows: %2 of timing, after their checks") : tr("%1 rows or more: at least %2"))
                           .arg(rows * each)
                           .arg(time));
    }
    run_->setEnabled(bool(planned) && !running_);
}

void BackendsPlan::setAnswers(const std::vector<Capability>& answers) {
    variants_.clear();
    for (const auto& answer : answers) variants_[{answer.backend, answer.spec}] += answer.variants.size();
    estimate();
}

void BackendsPlan::setRunning(bool running) {
    running_ = running;
    run_->setVisible(!running);
    cancel_->setVisible(running);
    estimate();
}

} // namespace qs::gui
