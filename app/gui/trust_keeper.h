// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// How far each proxy can be trusted under each spec that is measured, computed on a worker whenever rows or effects on the
// output change. Pages show it beside the proxy.

#include "app/gui/model_rows.h"
#include "app/gui/task.h"
#include "core/analysis/proxy_trust.h"

#include <QObject>
#include <QTimer>

#include <map>

namespace qs::gui {

class TrustKeeper : public QObject {
    Q_OBJECT
public:
    explicit TrustKeeper(QObject* parent = nullptr);

    struct Measured {
        std::string spec; ///< canonicalText()
        ModelRows rows;   ///< of all weights
        std::size_t weights = 0;
    };
    /// What the rows are; read when something has changed, on the GUI thread.
    void setSource(std::function<std::vector<Measured>()> source) { source_ = std::move(source); }
    void changed();                                                           ///< rows or effects
    void clear();                                                             ///< of another model
    const ProxyTrust* of(const Metric& proxy, const std::string& spec) const; ///< null: not known

Q_SIGNALS:
    void renewed();

private:
    using Known = std::map<std::string, std::vector<ProxyTrust>>; ///< by spec
    void compute();
    std::function<std::vector<Measured>()> source_;
    Known known_;
    QTimer pause_;
    Task task_;
};

} // namespace qs::gui
