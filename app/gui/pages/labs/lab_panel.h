// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The common base of the panels of the labs page: work on a worker thread that the job lane shows, the selected tensor
// as a value, and inputs in place of activations.

#include "app/gui/sentence.h"
#include "app/gui/session.h"
#include "app/gui/task.h"
#include "app/gui/widgets/page_title.h"
#include "app/gui/widgets/ranked_bars.h"
#include "core/value/deviation.h"
#include "core/value/inputs.h"

#include <QPointer>
#include <QWidget>

class QComboBox;
class QFormLayout;
class QTableView;

namespace qs::gui {

class Card;

/// Each input comes from a file, or is synthetic if there is no file.
struct LabInputs {
    std::shared_ptr<const value::InputFile> activations, gradients, cache;
    /// "synthetic" or the name of the file
    static QString title(const std::shared_ptr<const value::InputFile>& file);
    /// the same for a stored name, which is "" for synthetic inputs
    static QString titled(const std::string& name);
    static std::string nameOf(const std::shared_ptr<const value::InputFile>& file); ///< "" if there is no file
    QString title() const { return title(activations); }
    bool operator==(const LabInputs&) const = default; ///< the same opened files
    /// Activations [rows, columns] of the layer.
    Result<value::Tensor> make(const std::string& name, std::int64_t rows, std::int64_t columns) const {
        return value::inputsFor(activations.get(), name, rows, columns);
    }
};

class LabPanel : public QWidget {
    Q_OBJECT
public:
    LabPanel(Session& session, const LabInputs& inputs, QWidget* parent = nullptr);
    bool running() const { return task_.running(); }
    void touch(); ///< the tensor, the spec or the inputs changed: refresh() is called when the panel is visible

Q_SIGNALS:
    void settled(); ///< the started work has ended

protected:
    /// elements; work on smaller tensors starts automatically
    static constexpr std::int64_t kAtOnce = std::int64_t(1) << 22;

    virtual void refresh() = 0;
    virtual void interrupted(); ///< cancelled by Esc
    virtual void forget() {}    ///< deletes results, because another model was opened
    void showEvent(QShowEvent*) override;
    void resizeEvent(QResizeEvent*) override; ///< tables have another width now
    void drop() { task_.drop(); }
    /// Reads what the opened session stores under this name, on a worker thread. Then `take` gets it and refresh() is
    /// called; true until then. Work that is started meanwhile takes precedence.
    template<class T>
    bool takeRestored(const char* name, Result<T> (*read)(const std::string&, const Model&),
                      std::function<void(T)> take) {
        const auto text = session_.restored(QLatin1String(name));
        if (!text || text == read_.lock()) return restoring_.running();
        read_ = text;
        const auto work = [text, read, model = session_.model()](const Job&) { return read(*text, *model); };
        restoring_.run({}, work, [this, take = std::move(take)](Result<T> result) {
            if (result) take(std::move(*result));
            touch();
            if (!result) complain(errorSentence(result.error()));
            Q_EMIT settled();
        });
        return true;
    }
    bool small() const; ///< the selected tensor is small
    /// Ends with done(T) or failed(). Nothing arrives from work that was cancelled or replaced.
    template<class... Functions> void start(const QString& what, Functions... functions) {
        restoring_.drop();
        task_.run(what.toStdString(), std::move(functions)...);
    }
    template<class Mail, class... Functions> void startSending(const QString& what, Functions... functions) {
        restoring_.drop();
        task_.run<Mail>(what.toStdString(), std::move(functions)...);
    }

    virtual void failed(const QString& why);   ///< the work failed
    virtual void complain(const QString& why); ///< the stored result of the session cannot be used
    /// Shows a message in place of the content of all cards_; "": shows the content.
    void sayInCards(const QString& message);
    void askToRun(); ///< in all cards_: the tensor is too large to be measured without being asked
    /// "NAME|SPEC" of the selection; "": nothing is selected.
    QString subject() const;
    static QString subjectOf(const std::string& tensor, const QuantSpec& spec);

    Session& session_;
    const LabInputs& inputs_;
    std::vector<Card*> cards_; ///< the cards that show results

private:
    Task task_, restoring_;
    std::weak_ptr<const std::string> read_; ///< the last text read, which must not be read again
    bool touched_ = true;
};

/// The values of the tensor; `flat`: as rows of the last axis.
Result<value::Tensor> labTensor(const Model& model, const TensorInfo& tensor, bool flat);
QFormLayout* labForm(QWidget* parent); ///< with a caption above each control
QComboBox* choiceBox();                ///< choices, and other values can be typed
/// Adds a control with a caption above it. `name` is the object name.
void addField(QFormLayout& form, const QString& caption, QWidget* control, const char* name);
/// The sidebar: a card with the form, and below it widgets that leave no gap when hidden.
QWidget* labSidebar(const QString& title, QWidget* form, std::initializer_list<QWidget*> below);
/// A bar for the SQNR; hatched with the reason if there is no value.
RankedBar sqnrBar(const std::string& name, const std::optional<value::Deviation>& error, const std::string& reason);
void fitColumns(QTableView& table);

} // namespace qs::gui
