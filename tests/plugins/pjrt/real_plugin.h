// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The XLA CPU plugin, installed by packaging/install-deps --test, or the plugin in QUANTSCOPE_PJRT_PLUGIN.

#include <QtCore/QFile>
#include <QtCore/QString>

namespace qs::test {

inline QString realPluginPath() {
    if (const auto named = qEnvironmentVariable("QUANTSCOPE_PJRT_PLUGIN"); !named.isEmpty()) return named;
    auto cache = qEnvironmentVariable("XDG_CACHE_HOME");
    if (cache.isEmpty()) cache = qEnvironmentVariable("HOME") + QStringLiteral("/.cache");
    return cache + QStringLiteral("/quantscope/pjrt/xla_cpu_pjrt.so");
}

/// Why the real plugin is not tested; empty if it is.
inline QString whyNoRealPlugin() {
#if defined(__SANITIZE_THREAD__)
    return QStringLiteral("XLA's own threads are not built for ThreadSanitizer");
#else
    const auto path = realPluginPath();
    if (!QFile::exists(path))
        return QStringLiteral("there is no PJRT plugin at %1 (packaging/install-deps --test fetches it)").arg(path);
    return {};
#endif
}

} // namespace qs::test
