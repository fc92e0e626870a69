// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/backends/backends_plan.h"

#include "app/gui/session.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/tick_list.h"
#include "core/base/text.h"
#include "core/bench/run/operands.h"

#include <QAction>
#include <QCheckBox>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QFileDialog>
#include <QFileInfo>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QRegularExpression>
#include <QScrollArea>
#include <QSettings>
#include <QSpinBox>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>

namespace qs::gui {
namespace {

constexpr const char* kPlugins = "backends/plugins"; // key in the settings

/// The file that the user has added.
QString pluginOf(const BackendSource& source) {
    const auto* path = source.shipped ? source.option("path") : nullptr;
    return QString::fromStdString(path ? *path : source.path);
}

} // namespace

QLabel* BackendsPlan::caption(const QString& text) {
    auto* label = new QLabel(text);
    label->setFont(Theme::words(11));
    label->setProperty("role", QStringLiteral("muted"));
    return label;
}

TickList* BackendsPlan::list(QVBoxLayout* column, const QString& title, const char* name, int height, QWidget* beside) {
    auto* widget = new TickList(name, title);
    widget->setMinimumHeight(height);
    connect(widget, &QListWidget::itemChanged, this, &BackendsPlan::estimate);
    auto* line = new QHBoxLayout;
    line->addWidget(caption(title), 1);
    if (beside) line->addWidget(beside);
    column->addLayout(line);
    column->addWidget(widget, height);
    return widget;
}

BackendsPlan::BackendsPlan(Session& session, QWidget* parent) : QWidget(parent), session_(session) {
    auto* whole = new QVBoxLayout(this);
    whole->setContentsMargins(0, 0, 0, 0);
    whole->setSpacing(4);
    // In a low window the plan scrolls, and the buttons below stay in place.
    auto* scroll = new QScrollArea;
    auto* inner = new QWidget;
    auto* column = new QVBoxLayout(inner);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(3);
    scroll->setWidget(inner);
    scroll->setWidgetResizable(true);
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    inner->setAutoFillBackground(false);
    scroll->viewport()->setAutoFillBackground(false);
    whole->addWidget(scroll, 1);
    auto* plugin = new QToolButton;
    plugin->setObjectName(QStringLiteral("planAddPlugin"));
    plugin->setText(tr("Add a plugin…"));
    plugin->setToolTip(tr("A backend library, or a PJRT plugin for pjrt: libtpu.so, xla_cuda_plugin.so, …"));
    connect(plugin, &QToolButton::clicked, this, [this] {
        const QString path =
            QFileDialog::getOpenFileName(this, tr("A backend, or a PJRT plugin"), {}, tr("Libraries (*.so)"));
        if (!path.isEmpty()) addPlugin(path);
    });
    backends_ = list(column, tr("Backends"), "planBackends", 116, plugin);
    auto* remove = new QAction(tr("Remove the plugin"), backends_);
    remove->setShortcut(QKeySequence::Delete);
    remove->setShortcutContext(Qt::WidgetShortcut);
    backends_->addAction(remove);
    backends_->setContextMenuPolicy(Qt::ActionsContextMenu);
    connect(remove, &QAction::triggered, this, [this] {
        const int row = backends_->currentRow();
        if (row >= 0 && sources_[std::size_t(row)].named) removePlugin(pluginOf(sources_[std::size_t(row)]));
    });

    specList_ = list(column, tr("Weights"), "planSpecs", 72);
    addSpec_ = new QLineEdit;
    addSpec_->setObjectName(QStringLiteral("planAddSpec"));
    addSpec_->setFont(Theme::code());
    addSpec_->setPlaceholderText(tr("Add a spec, e.g. nf4:block=32"));
    addSpec_->setAccessibleName(tr("Add a spec"));
    connect(addSpec_, &QLineEdit::returnPressed, this, [this] {
        const auto spec = parseSpec(addSpec_->text().trimmed().toStdString());
        if (!spec) return complaint_->setText(QString::fromStdString(oneSentence(spec.error().message)));
        if (const auto why = whyNotCrossing(*spec)) {
            complaint_->setText(QString::fromStdString(*why));
            return complaint_->setVisible(true);
        }
        specs_.emplace_back(addSpec_->text().trimmed().toStdString(), *spec);
        specList_->add(addSpec_->text().trimmed(), true);
        addSpec_->clear();
        estimate();
    });
    column->addWidget(addSpec_);

    shapeList_ = list(column, tr("Shapes N × K"), "planShapes", 72);
    addShape_ = new QLineEdit;
    addShape_->setObjectName(QStringLiteral("planAddShape"));
    addShape_->setFont(Theme::code());
    addShape_->setPlaceholderText(tr("Add a shape, e.g. 4096x4096"));
    addShape_->setAccessibleName(tr("Add a shape, N by K"));
    connect(addShape_, &QLineEdit::returnPressed, this, [this] {
        const auto shape = parseShape("1x" + addShape_->text().trimmed().toStdString());
        if (!shape) return complaint_->setText(QString::fromStdString(oneSentence(shape.error().message)));
        shapes_.push_back({shape->n, shape->k, 0, {}});
        shapeList_->add(QStringLiteral("%1 × %2").arg(shape->n).arg(shape->k), true);
        addShape_->clear();
        estimate();
    });
    column->addWidget(addShape_);

    column->addLayout(fields());
    column->addStretch(1);

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
    whole->addWidget(note_);
    whole->addWidget(complaint_);
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
    whole->addLayout(buttons);
    connect(run_, &QPushButton::clicked, this, &BackendsPlan::runAsked);
    connect(cancel_, &QPushButton::clicked, this, &BackendsPlan::cancelAsked);
    connect(ask, &QPushButton::clicked, this, &BackendsPlan::askAsked);
    connect(&session, &Session::modelChanged, this, &BackendsPlan::listShapes);
    connect(&session, &Session::specChanged, this, [this] {
        stale_ = true;
        if (isVisible()) listSpecs();
    });
    plugins_ = QSettings().value(QLatin1String(kPlugins)).toStringList();
    plugins_.removeIf([](const QString& path) { return !QFileInfo::exists(path); });
    listBackends();
    listSpecs();
    listShapes();
    setRunning(false);
}

void BackendsPlan::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    if (stale_) listSpecs();
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
    plan.threads = threads_->value() == threads_->maximum() ? 0 : unsigned(threads_->value());
    plan.memoryBytes = std::uint64_t(memory_->value()) << 20;
    plan.artifacts = true;
    plan.cacheBytes = cacheBytes_;
    plan.model = session_.model();
    plan.commandLine = "quantscope";
    for (int i = 0; i < specList_->count(); ++i)
        if (specList_->ticked(i)) plan.specs.push_back(specs_[std::size_t(i)]);
    for (int i = 0; i < backends_->count(); ++i)
        if (backends_->ticked(i)) {
            auto source = withTopology(sources_[std::size_t(i)]);
            if (!source) return tl::unexpected(source.error());
            plan.backends.push_back(std::move(*source));
        }
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
        if (!shapeList_->ticked(i)) continue;
        const auto& shape = shapes_[std::size_t(i)];
        const std::string tensor = shape.tensors.empty() ? std::string() : shape.tensors.front();
        for (const auto m : ms) plan.shapes.push_back({m, shape.n, shape.k, tensor});
    }
    if (plan.backends.empty()) return fail("choose at least one backend");
    if (plan.specs.empty()) return fail("choose at least one format of the weights");
    if (plan.shapes.empty()) return fail("choose at least one shape");
    if (auto usable = checkPlan(plan); !usable) return tl::unexpected(usable.error());
    return plan;
}

void BackendsPlan::estimate() {
    if (!cancel_) return; // the page is still being built
    for (auto* list : {backends_, specList_, shapeList_}) list->fit();
    const auto* op = findBenchOp(op_->currentData().toString().toStdString());
    for (QWidget* ofProducts : {static_cast<QWidget*>(ms_), static_cast<QWidget*>(act_), static_cast<QWidget*>(bias_)})
        ofProducts->setEnabled(op && op->product);
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
                const auto ways = answer == variants_.end() ? Ways{1, 1} : answer->second;
                rows += std::max<std::size_t>(1, ways.all); // no variant: one row with the reason
                timed += ways.timed;
            }
        const auto each = planned->shapes.size() * planned->caches.size();
        secondsNeeded_ = double(timed * each) * planned->secondsPerRow;
        const auto time = QString::fromStdString(durationText(secondsNeeded_));
        note_->setText(
            (known ? tr("%1 rows: checked, then %2") : tr("%1 rows or more: at least %2")).arg(rows * each).arg(time));
    }
    run_->setEnabled(bool(planned) && !running_);
    Q_EMIT changed();
}

void BackendsPlan::setAnswers(const std::vector<Capability>& answers) {
    variants_.clear();
    for (const auto& answer : answers) {
        auto& ways = variants_[{answer.backend, answer.spec}];
        ways.all += answer.variants.size();
        if (answer.status == RowState::Ok) ways.timed += answer.variants.size();
    }
    estimate();
}

void BackendsPlan::keepPlugins() {
    QSettings().setValue(QLatin1String(kPlugins), plugins_);
    listBackends();
    estimate();
}

void BackendsPlan::addPlugin(const QString& path) {
    if (!plugins_.contains(path)) plugins_ << path;
    keepPlugins();
}

void BackendsPlan::removePlugin(const QString& path) {
    plugins_.removeAll(path);
    keepPlugins();
}

void BackendsPlan::setRunning(bool running) {
    running_ = running;
    run_->setVisible(!running);
    cancel_->setVisible(running);
    estimate();
}

} // namespace qs::gui
