// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/labs/labs_page.h"

#include "app/gui/output_check.h"
#include "app/gui/page.h"
#include "app/gui/pages/labs/lab_operations.h"
#include "app/gui/pages/labs/lab_products.h"
#include "app/gui/pages/labs/lab_qat.h"
#include "app/gui/pages/labs/lab_solvers.h"
#include "app/gui/pages/tensor/tensor_page_header.h"
#include "app/gui/sentence.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/empty_state.h"
#include "app/gui/widgets/status_line.h"

#include <QButtonGroup>
#include <QFileDialog>
#include <QHBoxLayout>
#include <QMenu>
#include <QToolButton>

namespace qs::gui {
namespace {

struct Lab {
    const char* id;
    const char* title;
    const char* tip;
    LabPanel* (*create)(Session&, const LabInputs&);
};
template<class Panel> LabPanel* make(Session& session, const LabInputs& inputs) { return new Panel(session, inputs); }
constexpr Lab kLabs[] = {
    {"operations", QT_TRANSLATE_NOOP("LabsPage", "Tensor operations"),
     QT_TRANSLATE_NOOP("LabsPage",
                       "Transpose, reshape, concatenate, slice, shard: the error caused, bytes per device."),
     make<OperationsPanel>},
    {"qat", QT_TRANSLATE_NOOP("LabsPage", "Training"),
     QT_TRANSLATE_NOOP("LabsPage", "Minimise the layer's output error through the straight-through estimator."),
     make<QatPanel>},
    {"products", QT_TRANSLATE_NOOP("LabsPage", "Dot-general and KV cache"),
     QT_TRANSLATE_NOOP("LabsPage", "Y, dX and dW with a spec for each of the six operands; K and V blocks."),
     make<ProductsPanel>},
    {"solvers", QT_TRANSLATE_NOOP("LabsPage", "Solvers"),
     QT_TRANSLATE_NOOP("LabsPage",
                       "GPTQ and AWQ over the current spec: keep the layer's output on calibration inputs."),
     make<SolversPanel>},
};

} // namespace

LabsPage::LabsPage(Session& session, QWidget* parent)
    : PageInParts(parent), session_(session), stack_(new QStackedLayout(this)), labs_(new QStackedLayout),
      empty_(new EmptyState(session)), header_(new TensorHeader), inputsButton_(named(new QToolButton, "labInputs")),
      trouble_(new StatusLine("labsTrouble")) {
    setAccessibleName(tr("Labs"));
    auto* content = new QWidget;
    auto* column = spaced(new QVBoxLayout(content), Theme::kGap, Theme::kPageMargins);
    header_->setFixedHeight(Theme::kControl);
    column->addWidget(header_);
    auto* bar = spaced(new QHBoxLayout, 4);
    auto* group = new QButtonGroup(this);
    for (const Lab& lab : kLabs) {
        auto* tab = new QToolButton;
        tab->setObjectName(QStringLiteral("lab-") + QLatin1String(lab.id));
        tab->setText(tr(lab.title));
        tab->setToolTip(tr(lab.tip));
        tab->setCheckable(true);
        group->addButton(tab, int(tabs_.size()));
        tabs_.push_back(tab);
        bar->addWidget(tab);
        addPart([this, &lab] {
            panels_.push_back(lab.create(session_, inputs_));
            labs_->addWidget(panels_.back());
        });
    }
    group->setExclusive(true);
    connect(group, &QButtonGroup::idClicked, this, &LabsPage::choose);
    bar->addStretch();
    trouble_->setWordWrap(false);
    bar->addWidget(trouble_);
    inputsButton_->setPopupMode(QToolButton::InstantPopup);
    auto* menu = new QMenu(inputsButton_);
    const auto offer = [this, menu](const QString& text, Given what) {
        menu->addAction(text, this, [this, text, what] {
            const QString path =
                QFileDialog::getOpenFileName(this, text, {}, tr("Tensors (*.safetensors *.index.json *.npy)"));
            if (!path.isEmpty()) openInputs(path, what);
        });
    };
    offer(tr("Open activations X…"), Given::Activations);
    offer(tr("Open gradients G…"), Given::Gradients);
    offer(tr("Open K and V blocks…"), Given::Cache);
    menu->addSeparator();
    menu->addAction(tr("Synthetic inputs"), this, [this] {
        inputs_ = {};
        openInputs({});
    });
    inputsButton_->setMenu(menu);
    bar->addWidget(inputsButton_);
    column->addLayout(bar);
    labs_->setContentsMargins({});
    column->addLayout(labs_, 1);
    stack_->addWidget(empty_);
    stack_->addWidget(content);

    connect(&session_, &Session::modelChanged, this, &LabsPage::showState);
    connect(&session_, &Session::tensorChanged, this, &LabsPage::showState);
    connect(&session_, &Session::currentChanged, this, &LabsPage::showState);
    connect(this, &LabsPage::inputsChanged, this, [this] {
        showInputs();
        for (LabPanel* panel : panels_) panel->touch();
    });
    showInputs();
    inputsButton_->setVisible(false);
    addPart([this] {
        choose(0);
        showState();
    });
}

void LabsPage::choose(int lab) {
    labs_->setCurrentWidget(panels_[std::size_t(lab)]);
    tabs_[std::size_t(lab)]->setChecked(true);
    inputsButton_->setVisible(lab != 0);
}

LabPanel* LabsPage::panel() const { return qobject_cast<LabPanel*>(labs_->currentWidget()); }

void LabsPage::openInputs(const QString& path, Given what) {
    trouble_->say({});
    using File = std::shared_ptr<const value::InputFile>;
    const auto take = [this, what](File file) {
        (what == Given::Activations ? inputs_.activations
         : what == Given::Gradients ? inputs_.gradients
                                    : inputs_.cache) = std::move(file);
        Q_EMIT inputsChanged();
    };
    if (path.isEmpty()) return take(nullptr);
    readsBeside(session_, path, tr("inputs of the labs"));
    Task::once(
        this, [path = path.toStdString()](const Job&) { return value::InputFile::open(path); },
        [this, take](Result<File> file) {
            if (!file) return trouble_->say(errorSentence(file.error()), true);
            take(std::move(*file));
        });
}

void LabsPage::showInputs() {
    QStringList files;
    for (const auto& file : {inputs_.activations, inputs_.gradients, inputs_.cache})
        if (const QString title = LabInputs::title(file); file && !files.contains(title)) files << title;
    inputsButton_->setText(tr("Inputs: %1").arg(files.isEmpty() ? LabInputs::title(nullptr) : files.join(tr(", "))));
}

void LabsPage::showState() {
    if (!session_.model())
        empty_->askForModel();
    else
        empty_->askForTensor();
    header_->showTensor(session_);
    stack_->setCurrentIndex(session_.model() && session_.tensor() ? 1 : 0);
}

QWidget* createLabsPage(Session& session, QWidget* parent) { return new LabsPage(session, parent); }

} // namespace qs::gui
