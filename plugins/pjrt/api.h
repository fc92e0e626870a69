// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The table of a PJRT plugin with C++ manners: the version gate, a test of every slot before its use, and errors as
// Faults. One thread; the library stays loaded for the life of the process.

#include "plugins/common/entry.h"
#include "plugins/pjrt/pjrt_abi.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace qs::pjrt {

/// What goes wrong inside is thrown and caught at the edge: every call of a PJRT plugin can fail.
using Fault = plugin::Refusal;

using Log = std::function<void(int level, const std::string&)>; ///< 0 debug, 1 info, 2 warning, 3 error

class Api {
public:
    /// Loads `path` (and first, for a CUDA plugin, the vendor libraries that lie beside it) and calls GetPjrtApi.
    static Api load(const std::string& path, const Log& log);
    /// Refuses a NULL table, another major version, minor versions before 58 and a table without room for its version.
    explicit Api(const void* table);

    int major() const { return table_->major; }
    int minor() const { return table_->minor; }
    bool has(Slot slot) const;

    /// Calls a slot that returns an error. A slot that is missing is declined.
    template<class Fields> void call(Slot slot, Padded<Fields>& args) const { check(slot, invoke(slot, &args)); }
    /// Destroys anything; NULL and errors are nothing to worry about.
    void destroy(Slot slot, void* handle) const noexcept;
    /// Waits, then destroys the event; NULL is an event that has happened.
    void await(void* event, const char* what) const;

    /// A text out of a handle: names and kinds.
    std::string text(Slot slot, void* handle) const;
    std::int64_t number(Slot slot, void* handle) const;

private:
    void* invoke(Slot slot, void* args) const;
    void check(Slot slot, void* error) const;
    const Table* table_;
};

/// Name and value as JSON values: what Plugin_Attributes and cost analyses give.
struct Attribute {
    std::string name, json;
};
std::vector<Attribute> attributes(const NamedValue* values, std::size_t count);
std::string jsonText(const std::string& text); ///< with its quotes; what is no UTF-8 is replaced

} // namespace qs::pjrt
