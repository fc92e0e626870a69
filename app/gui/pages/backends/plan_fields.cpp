// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/backends/plan_fields.h"

#include "app/gui/pages/backends/plan_list.h"
#include "app/gui/theme.h"
#include "core/base/parallel.h"
#include "core/base/text.h"

#include <QAbstractItemView>
#include <QCheckBox>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QGridLayout>
#include <QLabel>
#include <QLineEdit>
#include <QRegularExpression>
#include <QSettings>
#include <QSpinBox>
#include <QVBoxLayout>

#include <algorithm>
#include <fmt/format.h>

namespace qs::gui {
namespace {

constexpr const char* kThreads = "backends/threads"; // key in the settings; 0: all cores
constexpr const char* kTopology = "backends/topology";
constexpr const char *kName = "topology", *kBounds = "chips_per_host_bounds"; // names of options of pjrt

bool runsPlugin(const BackendSource& source) { return source.takesPlugin && source.option("path"); }

/// The topology as the user types it: "v6e:2x2", "v6e:1x1,chips_per_host_bounds=1,1,1".
QString topologyText(const BackendSource& source) {
    const auto* name = source.option(kName);
    if (!name) return {};
    std::string text = *name;
    if (const auto* bounds = source.option(kBounds)) text += fmt::format(",{}={}", kBounds, *bounds);
    return QString::fromStdString(text);
}

} // namespace

PlanFields::PlanFields(QVBoxLayout& column, QObject* parent) : QObject(parent) {
    auto* grid = new QGridLayout;
    grid->setContentsMargins(0, 4, 0, 0);
    grid->setHorizontalSpacing(Theme::kSpace);
    grid->setVerticalSpacing(4);
    grid->setColumnStretch(1, 1);
    const auto line = [&](const QString& title, QWidget* widget, const char* name) {
        widget->setObjectName(QLatin1String(name));
        widget->setAccessibleName(title);
        grid->addWidget(planCaption(title), grid->rowCount(), 0);
        grid->addWidget(widget, grid->rowCount() - 1, 1);
    };
    ms_ = dressed(new QLineEdit(QStringLiteral("1 4 16 64")), Theme::numbers());
    ms_->setToolTip(tr("Rows of x, which is the number of tokens at once: numbers from 1 to 4096"));
    bias_ = named(new QCheckBox(tr("bias")), "planBias");
    bias_->setAccessibleName(tr("With a bias"));
    bias_->setToolTip(tr("A bias is added to every row of y"));
    line(tr("M"), ms_, "planM");
    auto* first = spaced(new QHBoxLayout, Theme::kSpace);
    grid->removeWidget(ms_);
    first->addWidget(ms_, 1);
    first->addWidget(bias_);
    grid->addLayout(first, grid->rowCount() - 1, 1);
    op_ = new QComboBox;
    for (const auto& op : benchOps()) {
        op_->addItem(QString::fromUtf8(op.title), QString::fromUtf8(op.id));
        op_->setItemData(op_->count() - 1, QString::fromUtf8(op.summary), Qt::ToolTipRole);
    }
    // The longest title must not widen the field; the opened list may be wider.
    op_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    op_->setMinimumContentsLength(8);
    op_->view()->setMinimumWidth(op_->view()->sizeHintForColumn(0) + 2 * Theme::kGap);
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
    threads_ = new QSpinBox;
    const int cores = int(workerCount());
    threads_->setRange(1, cores);
    const int kept = QSettings().value(QLatin1String(kThreads)).toInt();
    threads_->setValue(kept >= 1 && kept < cores ? kept : cores);
    threads_->setSuffix(tr(" of %1").arg(cores));
    threads_->setFont(Theme::numbers());
    threads_->setToolTip(tr("Threads of each backend that runs on the CPU"));
    line(tr("Threads"), threads_, "planThreads");
    memory_ = new QSpinBox;
    memory_->setRange(0, 1 << 20);
    memory_->setSingleStep(256);
    memory_->setSpecialValueText(tr("half of what is free"));
    memory_->setSuffix(tr(" MiB"));
    memory_->setFont(Theme::numbers());
    memory_->setToolTip(tr("The most memory for all copies of the weights. With too little, rows say that they are not "
                           "cold"));
    line(tr("Memory"), memory_, "planMemory");
    topology_ = dressed(new QLineEdit, Theme::numbers());
    topology_->setPlaceholderText(tr("none, or v6e:2x2"));
    topology_->setToolTip(
        tr("Compile for this TPU without having one: memory, code and verdict, no times. One chip is\n"
           "v6e:1x1,chips_per_host_bounds=1,1,1. Empty: the plugin runs what it finds here; libtpu without a TPU\n"
           "compiles for v6e:2x2."));
    line(tr("Topology"), topology_, "planTopology");
    topologyCaption_ = qobject_cast<QLabel*>(grid->itemAtPosition(grid->rowCount() - 1, 0)->widget());
    for (auto* box : {op_, act_, cache_}) connect(box, &QComboBox::currentIndexChanged, this, &PlanFields::changed);
    connect(bias_, &QCheckBox::toggled, this, &PlanFields::changed);
    connect(ms_, &QLineEdit::textChanged, this, &PlanFields::changed);
    connect(seconds_, &QDoubleSpinBox::valueChanged, this, &PlanFields::changed);
    connect(memory_, &QSpinBox::valueChanged, this, &PlanFields::changed);
    connect(threads_, &QSpinBox::valueChanged, this, [this](int value) {
        QSettings().setValue(QLatin1String(kThreads), value == threads_->maximum() ? 0 : value);
        Q_EMIT changed();
    });
    connect(topology_, &QLineEdit::textEdited, this, [this](const QString& text) {
        QSettings().setValue(QLatin1String(kTopology), text.trimmed());
        Q_EMIT changed();
    });
    column.addLayout(grid);
}

const BenchOp* PlanFields::op() const { return findBenchOp(op_->currentData().toString().toStdString()); }

void PlanFields::enableForOperation() {
    for (QWidget* ofProducts : {static_cast<QWidget*>(ms_), static_cast<QWidget*>(act_), static_cast<QWidget*>(bias_)})
        ofProducts->setEnabled(op() && op()->product);
}

void PlanFields::fill(BenchmarkPlan& plan) const {
    plan.ops = {op_->currentData().toString().toStdString()};
    plan.acts = {act_->currentData().toString().toStdString()};
    plan.caches = cache_->currentIndex() == 2   ? std::vector{CacheState::Cold, CacheState::Warm}
                  : cache_->currentIndex() == 1 ? std::vector{CacheState::Warm}
                                                : std::vector{CacheState::Cold};
    plan.bias = bias_->isChecked();
    plan.secondsPerRow = seconds_->value();
    plan.threads = threads_->value() == threads_->maximum() ? 0 : unsigned(threads_->value());
    plan.memoryBytes = std::uint64_t(memory_->value()) << 20;
}

Result<std::vector<std::int64_t>> PlanFields::ms() const {
    std::vector<std::int64_t> ms;
    const auto words = ms_->text().split(QRegularExpression(QStringLiteral("[^0-9]+")), Qt::SkipEmptyParts);
    for (const auto& word : words) ms.push_back(word.toLongLong());
    if (op() && !op()->product) ms = {1};
    if (ms.empty() || *std::ranges::min_element(ms) < 1 || *std::ranges::max_element(ms) > 4096)
        return fail("M must be one or more numbers from 1 to 4096");
    std::ranges::sort(ms);
    ms.erase(std::unique(ms.begin(), ms.end()), ms.end());
    return ms;
}

void PlanFields::offerTopology(std::span<const BackendSource> sources) {
    const auto plugin = std::ranges::find_if(sources, runsPlugin);
    topology_->setVisible(plugin != sources.end());
    topologyCaption_->setVisible(plugin != sources.end());
    const QVariant kept = QSettings().value(QLatin1String(kTopology));
    // The field shows the value from the environment until another one is typed.
    if (plugin != sources.end()) topology_->setText(kept.isValid() ? kept.toString() : topologyText(*plugin));
}

Result<BackendSource> PlanFields::withTopology(BackendSource source) const {
    if (!runsPlugin(source)) return source;
    std::erase_if(source.options, [](const auto& option) { return option.first == kName || option.first == kBounds; });
    const QString text = topology_->text().trimmed();
    if (text.isEmpty()) return source;
    static const QRegularExpression name(QStringLiteral("^[A-Za-z0-9_]+:[0-9x]+(,chips_per_host_bounds=[0-9]+,[0-9]+,"
                                                        "[0-9]+)?$"));
    if (!name.match(text).hasMatch())
        return fail(
            fmt::format("the topology '{}' is not of the form v6e:2x2", escapeForPeople(text.toStdString(), 40)));
    source.options.emplace_back(kName, text.section(u',', 0, 0).toStdString());
    if (text.contains(u'=')) source.options.emplace_back(kBounds, text.section(u'=', 1).toStdString());
    return source;
}

} // namespace qs::gui
