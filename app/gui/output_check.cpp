// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/output_check.h"

#include "app/gui/session.h"
#include "core/base/lists.h"
#include "core/export/run_files.h"

#include <vector>

namespace qs::gui {
namespace {

/// The files that a session reads beside its model. The session owns this object.
class ReadBeside : public QObject {
public:
    explicit ReadBeside(QObject* session) : QObject(session) { setObjectName(QStringLiteral("readBeside")); }
    std::vector<std::pair<std::string, std::string>> files; ///< path, and its description in messages
};

ReadBeside* besideOf(const Session& session) {
    return static_cast<ReadBeside*>(
        session.findChild<QObject*>(QStringLiteral("readBeside"), Qt::FindDirectChildrenOnly));
}

} // namespace

void readsBeside(Session& session, const QString& path, const QString& as) {
    auto* beside = besideOf(session);
    if (!beside) beside = new ReadBeside(&session);
    const std::pair file(path.toStdString(), as.toStdString());
    addOnce(beside->files, file);
}

OutputCheck outputCheck(const Session& session) {
    const auto* beside = besideOf(session);
    return [model = session.model(), inputs = session.inputs().file,
            files = beside ? beside->files : decltype(beside->files)()](const std::string& path) {
        RunFiles all;
        if (model) all.reads(model->path, "the opened model");
        if (model) all.reads(*model);
        if (inputs) all.reads(*inputs);
        for (const auto& [file, as] : files) all.reads(file, as);
        all.exports(path, "the output", true);
        return all.apart();
    };
}

} // namespace qs::gui
