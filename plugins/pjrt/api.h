// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Calls the functions of a PJRT plugin. It checks the version, checks that a function exists before it is called, and
// throws errors as Fault. Only one thread may use it. The library stays loaded until the process ends.

#include "plugins/common/entry.h"
#include "plugins/pjrt/pjrt_abi.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace qs::pjrt {

/// Every call of a PJRT plugin can fail. Errors are thrown as Fault and caught in backend.cpp.
using Fault = plugin::Refusal;

using Log = std::function<void(int level, const std::string&)>; ///< 0 debug, 1 info, 2 warning, 3 error

class Api {
public:
    /// Loads the plugin at `path` and calls GetPjrtApi. For a CUDA plugin it first loads NVIDIA's libraries beside it.
    static Api load(const std::string& path, const Log& log);
    /// Throws if the table is NULL, has another major version than 0 or a minor version before 58, or is too short.
    explicit Api(const void* table);

    int major() const { return table_->major; }
    int minor() const { return table_->minor; }
    bool has(Slot slot) const;

    /// Calls a function that returns an error, and throws it. If the plugin does not have the function, it throws a
    /// Fault with QS_UNIMPLEMENTED.
    template<class Fields> void call(Slot slot, Padded<Fields>& args) const { check(slot, invoke(slot, &args)); }
    /// Destroys an object of any kind. NULL and errors are ignored.
    void destroy(Slot slot, void* handle) const noexcept;
    /// Waits for an event, then destroys it. NULL counts as an event that has already happened.
    void await(void* event, const char* what) const;

    /// Reads the name or the kind of an object.
    std::string text(Slot slot, void* handle) const;
    std::int64_t number(Slot slot, void* handle) const;

private:
    void* invoke(Slot slot, void* args) const;
    void check(Slot slot, void* error) const;
    const Table* table_;
};

/// A name and its value as JSON text. Plugin_Attributes and the cost analysis return such pairs.
struct Attribute {
    std::string name, json;
};
std::vector<Attribute> attributes(const NamedValue* values, std::size_t count);
std::string jsonText(const std::string& text); ///< quotes and escapes a text; replaces bytes that are not UTF-8

} // namespace qs::pjrt
