// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Results of pages as text for session files, stored under a name that the page chooses.

#include "core/session/session_file.h"

#include <QString>

#include <functional>
#include <map>
#include <memory>
#include <string>

namespace qs::gui {

class KeptTexts {
public:
    using Text = std::function<std::string()>; ///< called on a worker thread; it owns the data that it writes
    struct Kept {
        Text text;
        /// read from a session file; null once the page has stored its own text
        std::shared_ptr<const std::string> restored;
        int number = 0; ///< changes when the contents change
    };
    /// The name must be one that session files take: isKeptName().
    void keep(const QString& name, Text text) {
        Q_ASSERT(isKeptName(name.toStdString()));
        if (!text) return void(all_.erase(name));
        // The code that saves a session copies this list, which is cheap: it does not copy the data that the functions
        // own.
        const auto owned = std::make_shared<const Text>(std::move(text));
        all_[name] = {[owned] { return (*owned)(); }, nullptr, ++number_};
    }
    void restore(const std::string& name, std::string text) {
        const auto held = std::make_shared<const std::string>(std::move(text));
        all_[QString::fromStdString(name)] = {[held] { return *held; }, held, ++number_};
    }
    const std::map<QString, Kept>& all() const { return all_; }
    std::shared_ptr<const std::string> restored(const QString& name) const {
        const auto at = all_.find(name);
        return at == all_.end() ? nullptr : at->second.restored;
    }
    void clear() { all_.clear(); }

private:
    std::map<QString, Kept> all_;
    int number_ = 0;
};

} // namespace qs::gui
