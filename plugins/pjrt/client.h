// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Devices, buffers and executables of a PJRT plugin. Buffers and executables must be destroyed before their client.

#include "plugins/pjrt/api.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace qs::pjrt {

/// Owns an object of the plugin and destroys it with one function of the table.
class Owned {
public:
    Owned() = default;
    Owned(const Api* api, Slot destroy, void* handle) : api_(api), destroy_(destroy), handle_(handle) {}
    Owned(Owned&& other) noexcept
        : api_(other.api_), destroy_(other.destroy_), handle_(std::exchange(other.handle_, nullptr)) {}
    Owned& operator=(Owned&& other) noexcept {
        std::swap(api_, other.api_);
        std::swap(destroy_, other.destroy_);
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~Owned() {
        if (api_ != nullptr) api_->destroy(destroy_, handle_);
    }
    void* get() const { return handle_; }
    explicit operator bool() const { return handle_ != nullptr; }

private:
    const Api* api_ = nullptr;
    Slot destroy_ = Slot::BufferDestroy;
    void* handle_ = nullptr;
};

std::size_t elementBytes(ElementType type);

struct ArraySpec {
    ElementType type = ElementType::Invalid;
    std::vector<std::int64_t> dims;
    std::uint64_t bytes() const;
    bool operator==(const ArraySpec&) const = default;
};

/// Memory and work of a program, as the compiler reports them; nullopt if it does not.
struct CompiledFigures {
    std::optional<std::int64_t> argumentBytes, outputBytes, tempBytes, peakBytes, codeBytes;
    std::optional<double> flops, bytesAccessed;
};

class Executable {
public:
    Executable(const Api* api, Owned loaded, Owned executable);
    void* loaded() const { return loaded_.get(); }
    CompiledFigures figures() const;
    std::vector<ArraySpec> outputs() const; ///< as the compiler reports them; empty if it does not
    std::string optimizedProgram() const;   ///< a serialized "hlo_with_config"

private:
    const Api* api_;
    Owned loaded_, executable_;
};

/// A compiled program. The client keeps the latest ones by their text, so the same program (a layer of the same shape,
/// a roof) is compiled only once.
struct Compiled {
    Executable executable;
    double ms; ///< time that compiling took, in milliseconds
};

struct ClientRequest {
    bool gpu = false;     ///< true: send an option so that XLA does not take 75 % of the memory at once. Only XLA's GPU
                          ///< client accepts it
    std::string topology; ///< "v6e:2x2": compile for these devices, which need not be there; "" for real devices
    std::vector<std::int64_t> chipsPerHostBounds; ///< an option of the topology; empty: the plugin's default
};

class Client {
public:
    /// Calls Plugin_Initialize, then creates a client, or a topology if the request names one.
    Client(Api api, const ClientRequest& request, const Log& log);
    Client(const Client&) = delete; ///< not copied, because handles point to its member api_
    Client& operator=(const Client&) = delete;

    const Api& api() const { return api_; }
    bool compileOnly() const { return bool(topology_); }
    const std::string& platform() const { return platform_; }               ///< "cpu", "cuda", "tpu"
    const std::string& platformVersion() const { return platformVersion_; } ///< a text of the plugin's own choice
    const std::vector<Attribute>& pluginAttributes() const { return attributes_; }
    std::size_t deviceCount() const { return devices_.size(); }
    std::string deviceKind() const;
    std::optional<std::int64_t> deviceMemory() const;

    std::shared_ptr<const Compiled> compile(const std::string& stablehlo);
    Owned upload(const ArraySpec& spec, const void* data) const; ///< `data` may be freed when it returns
    /// Starts one run and returns an event. The outputs are complete only after the caller has awaited it.
    void* execute(const Executable& executable, std::span<void* const> arguments, std::vector<Owned>& outputs,
                  std::size_t outputCount) const;
    void download(const Owned& buffer, const ArraySpec& spec, void* out) const;

private:
    void* firstDevice() const { return devices_.front(); }
    Executable compileNow(const std::string& stablehlo) const;
    void openClient(const ClientRequest& request);
    void openTopology(const ClientRequest& request);
    std::vector<void*> list(Slot slot, void* handle) const;

    Api api_;
    Owned client_, topology_;
    std::vector<void*> devices_; ///< devices or, with a topology, descriptions of devices
    std::string platform_, platformVersion_;
    std::vector<Attribute> attributes_;
    std::deque<std::pair<std::string, std::shared_ptr<const Compiled>>> compiled_; ///< program text -> latest programs
};

std::uint64_t nowNs();
double millisecondsSince(std::uint64_t ns);

/// A serialized CompileOptionsProto: one replica, one partition. With empty options some plugins abort the process.
std::string compileOptions();

} // namespace qs::pjrt
