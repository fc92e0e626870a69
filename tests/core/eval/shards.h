// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Several processes that share units, one after another in this one.

#include "core/records/unit_run.h"

#include <QTemporaryDir>

namespace qs::eval::test {

class Shards {
public:
    std::unique_ptr<UnitRun> part(std::size_t index, std::size_t count) const {
        UnitRun::Settings settings;
        settings.folder = folder(), settings.shard = {index, count}, settings.isPart = count > 1;
        return opened(std::move(settings));
    }
    std::unique_ptr<UnitRun> merge() const {
        UnitRun::Settings settings;
        settings.places = {folder()}, settings.isMerge = true;
        return opened(std::move(settings));
    }

    QString path() const { return dir_.path(); }

private:
    std::string folder() const { return dir_.path().toStdString(); }
    static std::unique_ptr<UnitRun> opened(UnitRun::Settings settings) {
        settings.origin = {{"a command"}, "its settings"};
        auto run = UnitRun::open(std::move(settings));
        if (!run) qFatal("%s", run.error().message.c_str());
        return std::move(*run);
    }
    QTemporaryDir dir_;
};

} // namespace qs::eval::test
