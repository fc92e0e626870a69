// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/labs/lab_products.h"

#include "app/gui/sentence.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/card.h"
#include "app/gui/widgets/data_table.h"
#include "app/gui/widgets/sketch.h"
#include "core/base/lists.h"
#include "core/eval/network/architecture.h"
#include "core/model/conventions/attention.h"
#include "core/quant/spec/formats.h"

#include <QComboBox>
#include <QFormLayout>
#include <QGridLayout>
#include <QLineEdit>
#include <QPushButton>
#include <QSpinBox>
#include <QTableView>

#include <algorithm>
#include <tuple>

namespace qs::gui {
namespace {

constexpr const char* kProductsKept = "lab-products"; // name in session files
constexpr int kUsualHeads = 4, kUsualHeadSize = 64;   // where the model says nothing

/// Of the network, where it is one that can be evaluated (GGUF too); else of config.json.
AttentionSizes cacheSizes(const Model& model) {
    if (const auto network = eval::readNetwork(model); network && network->headSize > 0)
        return {network->keyValueHeads, network->headSize};
    return attentionSizes(model);
}

} // namespace

ProductsPanel::ProductsPanel(Session& session, const LabInputs& inputs, QWidget* parent)
    : LabPanel(session, inputs, parent),
      model_(new RowModel<value::LabRow>(value::labColumns().without({"product"}), this)),
      cache_(new RowModel<value::KvRow>(value::kvColumns(), this)), table_(new QTableView), cacheTable_(new QTableView),
      bars_(new RankedBars), trade_(new PlotChart), tableCard_(new Card(tr("Products of the layer"))),
      barsCard_(new Card(tr("SQNR of each product"))), tradeCard_(new Card(tr("KV cache: error against size"))),
      cacheCard_(new Card(tr("KV cache"))) {
    setObjectName(QStringLiteral("labProducts"));
    asDataTable(*table_, tr("Products: specs and errors"), 26);
    table_->setProperty("roomy", true); // text beside right-aligned numbers
    table_->setModel(model_);
    tableCard_->setBody(table_);
    tableCard_->setSketch(Sketch::ofTable(*model_));
    asDataTable(*cacheTable_, tr("KV cache: specs and errors"));
    cacheTable_->setProperty("roomy", true); // text beside right-aligned numbers
    cacheTable_->setModel(cache_);
    cacheCard_->setBody(cacheTable_);
    cacheCard_->setSketch(Sketch::ofTable(*cache_));
    bars_->setAccessibleName(tr("SQNR of each product"));
    bars_->setAxis(tr("SQNR, dB ↑"));
    bars_->setToken(2);
    barsCard_->setBody(bars_);
    barsCard_->setSketch(new Sketch(Sketch::Kind::Bars, {tr("SQNR, dB ↑")}));
    trade_->setAccessibleName(tr("KV cache: output NMSE against bytes per token"));
    trade_->setAxes(tr("bytes per token"), tr("output NMSE ↓"));
    trade_->setXDecimals(0);
    trade_->setLogY(true);
    tradeCard_->setBody(trade_);
    tradeCard_->setSketch(new Sketch(Sketch::Kind::Curves, {tr("bytes per token"), tr("output NMSE ↓")}));
    auto* grid = spaced(new QGridLayout(this), Theme::kGap);
    grid->addWidget(sidebar(), 0, 0, 3, 1);
    grid->addWidget(tableCard_, 0, 1, 1, 2);
    grid->addWidget(barsCard_, 1, 1);
    grid->addWidget(tradeCard_, 1, 2);
    grid->addWidget(cacheCard_, 2, 1, 1, 2);
    const int shares[] = {3, 4, 5};
    for (int row = 0; row < 3; ++row) grid->setRowStretch(row, shares[row]);
    for (const int column : {1, 2}) grid->setColumnStretch(column, 1);
    tableCard_->setMaximumHeight(188); // the height of its rows
    cacheCard_->setMaximumHeight(300);
    trade_->setMinimumSize(160, 100);
    cards_ = {tableCard_, barsCard_, tradeCard_, cacheCard_};
    for (Card* card : cards_) card->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Ignored);
    connect(&session_, &Session::modelChanged, this, &ProductsPanel::readConfig);
    readConfig();
    settle_.setSingleShot(true);
    settle_.setInterval(200);
    connect(&settle_, &QTimer::timeout, this, [this] {
        if (small() && !reading() && !showKept()) run();
    });
}

namespace {

/// The specs that presets use for this operand, and common specs.
QStringList operandChoices(value::LabOperand operand) {
    QStringList out{QStringLiteral("keep")};
    const auto add = [&out](const char* text) {
        if (const QString one = QString::fromUtf8(text); !out.contains(one)) out << one;
    };
    for (const auto& preset : value::labPresets()) add(preset.choices[std::size_t(operand)]);
    if (operand == value::LabOperand::InputGradientW || operand == value::LabOperand::WeightGradientX) add("forward");
    for (const auto& format : formats())
        if (format.kind == FormatKind::Integer || format.kind == FormatKind::Float) add(format.id);
    return out;
}

} // namespace

QLineEdit* ProductsPanel::choice(value::LabOperand operand) const { return choices_[std::size_t(operand)]->lineEdit(); }

/// Reads the number of heads and their size from the model.
void ProductsPanel::readConfig() {
    const auto model = session_.model();
    if (!model) return;
    Task::once(
        this, [model](const Job&) -> Result<AttentionSizes> { return cacheSizes(*model); },
        [this, model](Result<AttentionSizes> sizes) {
            if (!sizes || model != session_.model() || sizesGiven_) return;
            const auto set = [](QSpinBox* box, const std::optional<std::int64_t>& value, int usual) {
                box->setValue(value && *value > 0 && *value <= box->maximum() ? int(*value) : usual);
            };
            set(heads_, sizes->kvHeads, kUsualHeads); // not those of the model before
            set(dim_, sizes->headSize, kUsualHeadSize);
        });
}

QWidget* ProductsPanel::sidebar() {
    auto* body = new QWidget;
    QFormLayout* form = labForm(body);
    preset_ = named(new QComboBox, "labPreset");
    preset_->setAccessibleName(tr("Preset"));
    for (const auto& preset : value::labPresets()) preset_->addItem(QString::fromUtf8(preset.title));
    preset_->addItem(tr("own choice"));
    form->addRow(captionLabel(tr("Preset")), preset_);
    summary_ = captionLabel({});
    summary_->setWordWrap(true);
    form->addRow(summary_);
    for (std::size_t i = 0; i < choices_.size(); ++i) {
        auto* box = choiceBox();
        box->setObjectName(QStringLiteral("operand%1").arg(i));
        box->setToolTip(tr("A spec, keep (f32), or forward: the values as the forward product quantized them."));
        const QString title = QString::fromUtf8(value::title(value::LabOperand(i)));
        box->setAccessibleName(title);
        box->lineEdit()->setAccessibleName(title);
        box->addItems(operandChoices(value::LabOperand(i)));
        const auto own = [this] {
            preset_->setCurrentIndex(preset_->count() - 1);
            settle_.start();
        };
        connect(box->lineEdit(), &QLineEdit::textEdited, this, own);
        connect(box, &QComboBox::activated, this, own);
        connect(box->lineEdit(), &QLineEdit::returnPressed, this, &ProductsPanel::run);
        form->addRow(captionLabel(title), box);
        choices_[i] = box;
    }
    auto* sizes = new QGridLayout;
    sizes->setSpacing(4);
    const auto spin = [&](const QString& title, int most, int first, const char* name, int place) {
        auto* box = new QSpinBox;
        box->setRange(1, most);
        box->setValue(first);
        box->setFont(Theme::numbers());
        box->setObjectName(QLatin1String(name));
        box->setAccessibleName(title);
        connect(box, &QSpinBox::valueChanged, &settle_, qOverload<>(&QTimer::start));
        sizes->addWidget(captionLabel(title), place / 2 * 2, place % 2);
        sizes->addWidget(box, place / 2 * 2 + 1, place % 2);
        return box;
    };
    tokens_ = spin(tr("M, rows of X and G"), 8192, 256, "labRows", 0);
    heads_ = spin(tr("KV heads"), 128, kUsualHeads, "kvHeads", 1);
    cacheTokens_ = spin(tr("KV tokens"), 16384, 512, "kvTokens", 2);
    dim_ = spin(tr("KV head size"), 1024, kUsualHeadSize, "kvDim", 3);
    form->addRow(sizes);
    runButton_ = new QPushButton(tr("Run"));
    runButton_->setProperty("role", QStringLiteral("primary"));
    connect(runButton_, &QPushButton::clicked, this, &ProductsPanel::run);
    connect(preset_, &QComboBox::activated, this, &ProductsPanel::usePreset);
    usePreset(0);
    return labSidebar(tr("Operands"), body, {runButton_});
}

void ProductsPanel::usePreset(int index) {
    const auto presets = value::labPresets();
    if (index < 0 || std::size_t(index) >= presets.size()) return summary_->setText(tr("Six specs of your own."));
    const auto& preset = presets[std::size_t(index)];
    summary_->setText(QString::fromUtf8(preset.summary));
    for (std::size_t i = 0; i < choices_.size(); ++i) choices_[i]->setEditText(QString::fromUtf8(preset.choices[i]));
    settle_.start();
}

void ProductsPanel::refresh() {
    settle_.stop();
    runButton_->setVisible(!small());
    if (!session_.tensor()) return drop();
    if (reading() || showKept()) return;
    if (small()) return run();
    drop();
    askToRun();
}

void ProductsPanel::forget() { kept_.reset(), keptInputs_ = {}, sizesGiven_ = false; }

KeptProducts ProductsPanel::planned() const {
    KeptProducts plan{session_.tensor()->name,
                      session_.spec(),
                      {},
                      tokens_->value(),
                      heads_->value(),
                      cacheTokens_->value(),
                      dim_->value(),
                      LabInputs::nameOf(inputs_.activations),
                      LabInputs::nameOf(inputs_.gradients),
                      LabInputs::nameOf(inputs_.cache),
                      {},
                      {}};
    for (std::size_t i = 0; i < choices_.size(); ++i)
        plan.choices[i] = choices_[i]->currentText().trimmed().toStdString();
    return plan;
}

void ProductsPanel::setFields(const KeptProducts& products) {
    const auto presets = value::labPresets();
    const auto preset =
        std::ranges::find_if(presets, [&](const auto& one) { return value::choicesOf(one) == products.choices; });
    preset_->setCurrentIndex(int(preset - presets.begin())); // the entry after the presets is "own choice"
    usePreset(preset_->currentIndex());
    for (std::size_t i = 0; i < choices_.size(); ++i)
        choices_[i]->setEditText(QString::fromStdString(products.choices[i]));
    tokens_->setValue(products.rows);
    heads_->setValue(products.heads);
    cacheTokens_->setValue(products.tokens);
    dim_->setValue(products.dim);
    sizesGiven_ = true;
    settle_.stop();
}

bool ProductsPanel::reading() {
    return takeRestored<std::shared_ptr<const KeptProducts>>(
        kProductsKept, productsKept, [this](auto products) { kept_ = products, keptInputs_ = {}, restored_ = true; });
}

bool ProductsPanel::showKept() {
    if (!kept_ || !session_.tensor() || subjectOf(kept_->tensor, kept_->spec) != subject()) return false;
    if (std::exchange(restored_, false)) setFields(*kept_);
    const auto now = planned();
    const auto settings = [](const KeptProducts& one) {
        return std::tie(one.choices, one.rows, one.heads, one.tokens, one.dim);
    };
    if (settings(now) != settings(*kept_) || inputs_ != keptInputs_) return false;
    const auto files = [](const KeptProducts& one) { return std::tie(one.activations, one.gradients, one.blocks); };
    // The result comes from a session file and used files that are not open now; its notes name them. Short work is
    // repeated.
    if (files(now) != files(*kept_) && small()) return false;
    drop();
    show(*kept_);
    return true;
}

void ProductsPanel::run() {
    settle_.stop();
    const TensorInfo* tensor = session_.tensor();
    if (!tensor) return;
    for (Card* card : cards_) card->setLoading(true);
    const auto plan = std::make_shared<const KeptProducts>(planned());
    const auto work = [model = session_.model(), tensor, plan, inputs = inputs_](const Job& job) -> Result<Measured> {
        auto w = labTensor(*model, *tensor, true);
        if (!w) return tl::unexpected(w.error());
        w->dtype = DType::F32;
        auto x = value::inputsFor(inputs.activations.get(), tensor->name, plan->rows, tensor->lastAxis());
        if (!x) return tl::unexpected(x.error());
        x->dtype = DType::F32;
        auto g = value::gradientsFor(inputs.gradients.get(), tensor->name, x->shape[0], w->shape[0]);
        if (!g) return tl::unexpected(g.error());
        value::sameRows(*x, *g);
        auto products = value::runLab({std::move(*x), std::move(*w), std::move(*g), plan->choices}, job);
        auto given =
            inputs.cache ? inputs.cache->keysAndValues() : value::syntheticKv(plan->heads, plan->tokens, plan->dim, 1);
        if (!given) return Measured{std::move(products), tl::unexpected(given.error())};
        value::KvPlan& cache = *given;
        const auto own = specText(plan->spec);
        addOnce(cache.specs, own);
        return Measured{std::move(products), value::runKvCache(cache, job)};
    };
    const auto done = [this, plan, inputs = inputs_](Measured measured) {
        auto products = std::make_shared<KeptProducts>(*plan);
        products->products = std::move(measured.products);
        products->cache = std::move(measured.cache);
        if (products->products) { // otherwise it is computed again
            kept_ = products, keptInputs_ = inputs, restored_ = false;
            session_.keep(QLatin1String(kProductsKept), [products] { return keptProducts(*products); });
        }
        show(*products);
    };
    start(tr("Multiplying under the specs"), work, done);
}

void ProductsPanel::show(const KeptProducts& measured) {
    sayInCards({});
    if (measured.products) {
        std::vector<RankedBar> bars;
        for (const auto& row : *measured.products) bars.push_back(sqnrBar(row.formula, row.error, row.reason));
        bars_->setBars(std::move(bars));
        model_->setRows(*measured.products);
        fitColumns(*table_);
        tableCard_->setNote(
            tr("X: %1   G: %2").arg(LabInputs::titled(measured.activations), LabInputs::titled(measured.gradients)));
    } else {
        tableCard_->setMessage(tr("Not measured: %1").arg(errorSentence(measured.products.error())));
        barsCard_->setMessage(tableCard_->message());
    }
    if (measured.cache) {
        PlotSeries dots{tr("output NMSE"), PlotSeries::Style::Dots, 2, {}, {}};
        std::vector<const value::KvRow*> sorted;
        for (const auto& row : *measured.cache)
            if (row.output && row.output->nmse().value_or(0) > 0) sorted.push_back(&row);
        std::ranges::stable_sort(sorted,
                                 [](const auto* a, const auto* b) { return *a->bytesPerToken < *b->bytesPerToken; });
        for (const value::KvRow* row : sorted) {
            dots.points.append({*row->bytesPerToken, *row->output->nmse()});
            dots.notes.append(QString::fromStdString(row->spec));
            dots.labels.append(QString::fromStdString(row->spec));
        }
        trade_->setData({dots}, {});
        cache_->setRows(*measured.cache);
        fitColumns(*cacheTable_);
        cacheCard_->setNote(measured.blocks.empty() ? tr("synthetic Q, K, V; %1 heads × %2 tokens × %3")
                                                          .arg(measured.heads)
                                                          .arg(measured.tokens)
                                                          .arg(measured.dim)
                                                    : tr("K and V: %1").arg(LabInputs::titled(measured.blocks)));
    } else {
        cacheCard_->setMessage(tr("Not measured: %1").arg(errorSentence(measured.cache.error())));
        tradeCard_->setMessage(cacheCard_->message());
    }
}

} // namespace qs::gui
