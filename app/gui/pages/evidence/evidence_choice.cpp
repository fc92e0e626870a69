// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/evidence/evidence_choice.h"

#include "app/gui/distinct_specs.h"
#include "app/gui/pages/sweep/spec_set_view.h"
#include "app/gui/session.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/elided_label.h"
#include "app/gui/widgets/page_title.h"
#include "app/gui/widgets/spec_ticks.h"
#include "core/base/lists.h"
#include "core/base/text.h"
#include "core/bench/backend/backend.h"
#include "core/export/recipe.h"

#include <QComboBox>
#include <QFileDialog>
#include <QFileInfo>
#include <QFormLayout>
#include <QPushButton>
#include <QSignalBlocker>
#include <QSpinBox>
#include <QVBoxLayout>

#include <algorithm>

namespace qs::gui {
namespace {

constexpr int kLongestContext = 1 << 20, kMostChunks = 1'000'000;

/// Steps of the arrows double or halve.
class PowerSpin : public QSpinBox {
public:
    void stepBy(int steps) override {
        for (int i = 0; i < std::abs(steps); ++i)
            setValue(steps > 0 ? std::min(value(), kLongestContext / 2) * 2 : value() / 2);
    }
};

} // namespace

EvidenceChoice::EvidenceChoice(Session& session, QWidget* parent)
    : QWidget(parent), session_(session), file_(named(new ElidedLabel(Qt::ElideMiddle), "evidenceFile")),
      reference_(named(new ElidedLabel(Qt::ElideMiddle), "evidenceReference")),
      text_(named(new QPushButton(tr("Text…")), "evidenceText")),
      tokens_(named(new QPushButton(tr("Token ids…")), "evidenceTokens")),
      ownReference_(named(new QPushButton(tr("Use the model itself")), "evidenceOwnReference")),
      context_(new PowerSpin), chunks_(new QSpinBox), scored_(new QComboBox), backend_(new QComboBox),
      specs_(new SpecTicks("evidenceSpecs", tr("Specs to evaluate"), "evidenceAdd")) {
    auto* column = spaced(new QVBoxLayout(this), 4);
    column->addWidget(captionLabel(tr("Text")));
    file_->setFont(Theme::numbers());
    column->addWidget(file_);
    auto* files = spaced(new QHBoxLayout, Theme::kSpace);
    text_->setToolTip(tr("A text in UTF-8, which the model's tokenizer turns into tokens"));
    tokens_->setToolTip(tr("Token ids: an array of integers (.npy), or whole numbers in a text file"));
    files->addWidget(text_, 1);
    files->addWidget(tokens_, 1);
    column->addLayout(files);
    connect(text_, &QPushButton::clicked, this, [this] { chooseText(false); });
    connect(tokens_, &QPushButton::clicked, this, [this] { chooseText(true); });

    reference_->setFont(Theme::numbers());
    addWidgets(*column, {reference_, ownReference_});
    connect(ownReference_, &QPushButton::clicked, this, [this] { setBase({}); });

    auto* form = new QFormLayout;
    form->setContentsMargins(0, Theme::kSpace, 0, Theme::kSpace);
    form->setVerticalSpacing(4);
    form->setHorizontalSpacing(Theme::kSpace);
    const auto line = [&](const QString& title, QWidget* widget, const char* name, const QString& tip) {
        widget->setObjectName(QLatin1String(name));
        widget->setAccessibleName(title);
        widget->setToolTip(tip);
        form->addRow(captionLabel(title), widget);
    };
    context_->setRange(2, kLongestContext);
    context_->setValue(512);
    context_->setFont(Theme::numbers());
    chunks_->setRange(0, kMostChunks);
    chunks_->setSpecialValueText(tr("all"));
    chunks_->setFont(Theme::numbers());
    scored_->addItem(tr("second half"), int(eval::Scored::SecondHalf));
    scored_->addItem(tr("all tokens"), int(eval::Scored::All));
    line(tr("Context"), context_, "evidenceContext", tr("Tokens of a chunk; positions start at 0 in each"));
    line(tr("Chunks"), chunks_, "evidenceChunks", tr("Chunks to evaluate at most; 0: all"));
    line(tr("Scored"), scored_, "evidenceScored",
         tr("Which predictions count: those of the second half of a chunk, as llama.cpp does, or all"));
    backend_->addItem(tr("none"), QString());
    for (const BackendSource& source : backendSources({}))
        if (source.built) backend_->addItem(QString::fromStdString(source.id), QString::fromStdString(source.id));
    line(tr("Serve on"), backend_, "evidenceBackend",
         tr("A backend that evaluates every spec once more: the layers multiply there, as the model would be served"));
    column->addLayout(form);
    for (auto* box : {context_, chunks_}) connect(box, &QSpinBox::valueChanged, this, &EvidenceChoice::changed);
    for (auto* box : {scored_, backend_}) connect(box, &QComboBox::currentIndexChanged, this, &EvidenceChoice::changed);

    column->addWidget(captionLabel(tr("Specs")));
    column->addWidget(specs_, 1);
    connect(specs_, &SpecTicks::refused, this, &EvidenceChoice::refused);
    connect(specs_, &SpecTicks::changed, this, &EvidenceChoice::changed);
    setText({}, false);
    setBase({});
}

EvidenceSettings EvidenceChoice::settings() const {
    EvidenceSettings out;
    out.path = path_.toStdString(), out.ids = ids_, out.base = base_.toStdString();
    out.context = std::size_t(context_->value()), out.chunks = std::size_t(chunks_->value());
    out.scored = eval::Scored(scored_->currentData().toInt());
    out.backend = backend_->currentData().toString().toStdString();
    if (recipe_ && specs_->isFirstTicked()) out.recipe = recipe_;
    out.specs = specs_->ticked();
    return out;
}

void EvidenceChoice::setSettings(const EvidenceSettings& settings) {
    const QSignalBlocker blocker(this);
    setText(QString::fromStdString(settings.path), settings.ids);
    setBase(QString::fromStdString(settings.base));
    setContext(settings.context);
    chunks_->setValue(int(std::min<std::size_t>(settings.chunks, kMostChunks)));
    setScored(settings.scored);
    setBackend(QString::fromStdString(settings.backend));
    specs_->tickOnly(settings.specs, settings.recipe && recipe_);
}

void EvidenceChoice::setText(const QString& path, bool ids) {
    path_ = path, ids_ = ids;
    const QString name = QFileInfo(path).fileName();
    file_->setText(path.isEmpty() ? tr("none chosen") : ids ? tr("%1 (token ids)").arg(name) : name);
    file_->setToolTip(path.isEmpty() ? file_->text() : file_->text() + u'\n' + path);
    Q_EMIT changed();
}

void EvidenceChoice::setBase(const QString& path) {
    base_ = path;
    reference_->setText(tr("reference: %1").arg(QFileInfo(path).fileName()));
    reference_->setToolTip(tr("Predictions of this base-logits file of llama.cpp take the place of the model's own; "
                              "its tokens are the text "
                              "where no other is chosen, and its context is used.\n%1")
                               .arg(path));
    for (QWidget* widget : std::initializer_list<QWidget*>{reference_, ownReference_})
        widget->setVisible(!path.isEmpty());
    context_->setEnabled(path.isEmpty());
    Q_EMIT changed();
}

void EvidenceChoice::setContext(std::size_t tokens) {
    context_->setValue(int(std::clamp<std::size_t>(tokens, 2, kLongestContext)));
}

void EvidenceChoice::setScored(eval::Scored scored) { scored_->setCurrentIndex(scored_->findData(int(scored))); }

void EvidenceChoice::setBackend(const QString& id) { backend_->setCurrentIndex(std::max(0, backend_->findData(id))); }

void EvidenceChoice::allowTexts(bool allowed) { text_->setEnabled(allowed); }
void EvidenceChoice::takesScored(bool taken) { scored_->setEnabled(taken); }

void EvidenceChoice::chooseText(bool ids) {
    auto* dialog =
        named(new QFileDialog(this, ids ? tr("Token ids to evaluate") : tr("Text to evaluate")), "evidenceDialog");
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::ExistingFile);
    dialog->setNameFilters({ids ? tr("Token ids (*.npy *.txt)") : tr("Texts (*.txt *.md *.raw)"), tr("All files (*)")});
    if (!path_.isEmpty()) dialog->setDirectory(QFileInfo(path_).absolutePath());
    connect(dialog, &QFileDialog::fileSelected, this, [this, ids](const QString& path) { setText(path, ids); });
    dialog->open();
}

/// The recipe where it is mixed, spec A, spec B while it is shown, what the session has measured, and one spec of each
/// format. The ticks of A and B follow them, the others stay; a recipe that is new is ticked.
void EvidenceChoice::followSpecs() {
    const auto ticked = specs_->ticked();
    const bool recipeOn = !recipe_ || specs_->isFirstTicked();
    const QuantSpec before = specs_->listed().empty() ? session_.spec() : specs_->listed().front();
    DistinctSpecs all;
    all.add(session_.spec());
    if (session_.comparing()) all.add(session_.specB());
    for (const auto& spec : ticked) all.add(spec);
    for (const auto& spec : session_.analysedSpecs()) all.add(spec);
    for (const auto& spec : SpecSetView::presets()) all.add(spec);
    recipe_ = session_.recipe()->isMixed() ? session_.recipe() : nullptr;
    if (recipe_)
        specs_->setFirst(tr("this %1").arg(recipe_->title(session_.spec())), recipeOn,
                         QString::fromStdString(recipeInWords(recipe_->asRecipe())));
    else
        specs_->setFirst({}, false);
    specs_->setSpecs(all.inOrder(), [&](std::size_t place) {
        const QuantSpec& spec = all.inOrder()[place];
        if (spec == session_.spec() || (session_.comparing() && spec == session_.specB())) return true;
        return !(spec == before) && contains(ticked, spec); // A's tick follows A
    });
    Q_EMIT changed();
}

} // namespace qs::gui
