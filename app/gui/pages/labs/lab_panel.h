// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What the panels of the labs page share: work off the GUI thread that the job lane shows, the selected tensor as a
// value, and the inputs that stand for activations.

#include "app/gui/session.h"
#include "app/gui/task.h"
#include "app/gui/widgets/ranked_bars.h"
#include "core/value/deviation.h"
#include "core/value/inputs.h"

#include <QPointer>
#include <QWidget>

class QComboBox;
class QFormLayout;
class QLabel;
class QTableView;

namespace qs::gui {

class Card;

QString sentence(const Error& error);

/// Each out of a file, or synthetic while there is none.
struct LabInputs {
    std::shared_ptr<const value::InputFile> activations, gradients, cache;
    static QString title(const std::shared_ptr<const value::InputFile>& file);      ///< "synthetic" or the file's name
    static QString titled(const std::string& name);                                 ///< the same by its name, or ""
    static std::string nameOf(const std::shared_ptr<const value::InputFile>& file); ///< "" of none
    QString title() const { return title(activations); }
    bool operator==(const LabInputs&) const = default; ///< the same files, as they were opened
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
    void touch(); ///< the tensor, the spec or the inputs are others: refresh() follows when the panel is seen

Q_SIGNALS:
    void settled(); ///< what was started is over

protected:
    static constexpr std::int64_t kAtOnce = std::int64_t(1) << 22; ///< elements that are worked on without being asked

    virtual void refresh() = 0;
    virtual void interrupted(); ///< by Esc
    virtual void forget() {}    ///< what was computed: another model is open
    void showEvent(QShowEvent*) override;
    void resizeEvent(QResizeEvent*) override; ///< what the columns of tables may take is another width now
    void drop() { task_.drop(); }
    /// What the session that was opened holds by this name is read on a worker: `take` gets it, then refresh() is called.
    /// True until then. Work that is started meanwhile stands before it.
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
            if (!result) complain(sentence(result.error()));
            Q_EMIT settled();
        });
        return true;
    }
    bool small() const; ///< the selected tensor is
    /// done(T), or complain(). Of work that was dropped or replaced meanwhile nothing arrives.
    template<class... Functions> void start(const QString& what, Functions... functions) {
        restoring_.drop();
        task_.run(what.toStdString(), std::move(functions)...);
    }
    template<class Mail, class... Functions> void startSending(const QString& what, Functions... functions) {
        restoring_.drop();
        task_.run<Mail>(what.toStdString(), std::move(functions)...);
    }

    virtual void failed(const QString& why);   ///< the work
    virtual void complain(const QString& why); ///< what the session holds cannot be used
    /// In the place of what every one of cards_ shows; "": they show it.
    void sayInCards(const QString& message);
    /// "NAME|SPEC" of what is selected; "": nothing is.
    QString subject() const;
    static QString subjectOf(const std::string& tensor, const QuantSpec& spec);

    Session& session_;
    const LabInputs& inputs_;
    std::vector<Card*> cards_; ///< that show what was computed

private:
    Task task_, restoring_;
    std::weak_ptr<const std::string> read_; ///< of the session, and not to be read again
    bool touched_ = true;
};

/// The tensor's values; rows of the last axis where `flat`.
Result<value::Tensor> labTensor(const Model& model, const TensorInfo& tensor, bool flat);
QLabel* captionLabel(const QString& text);
QFormLayout* labForm(QWidget* parent); ///< a caption over each control
QComboBox* choiceBox();                ///< values to choose from, and a field for others
/// A row with a caption over it. The name is the object's.
void addField(QFormLayout& form, const QString& caption, QWidget* control, const char* name);
/// The sidebar: a card with the form and, below it, what may be hidden without leaving a gap.
QWidget* labSidebar(const QString& title, QWidget* form, std::initializer_list<QWidget*> below);
/// Its SQNR; hatched with the reason where there is none.
RankedBar sqnrBar(const std::string& name, const std::optional<value::Deviation>& error, const std::string& reason);
void fitColumns(QTableView& table);

} // namespace qs::gui
