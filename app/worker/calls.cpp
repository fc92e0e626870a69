// SPDX-License-Identifier: GPL-3.0-or-later
// What each request does with the backend.
#include "app/worker/environment.h"
#include "app/worker/plugin_library.h"
#include "app/worker/server.h"
#include "core/bench/backend/wire_values.h"

#include <cmath>
#include <cstdlib>
#include <unistd.h>

namespace qs::worker {
namespace {

using nlohmann::json;

constexpr std::size_t kText = 4096;

/// A request that does not make sense is refused after the call, whatever this holds.
const json kNothing = json::object();

template<class T> Outcome<json> wired(const Outcome<T>& outcome) {
    if (!outcome) return tl::unexpected(outcome.error());
    return wireOf(*outcome);
}

} // namespace

const Server::Call Server::kCalls[] = {
    {"load", &Server::load, false},        {"probe", &Server::probe, false},
    {"open", &Server::open, false},        {"describe", &Server::describe, true},
    {"devices", &Server::devices, true},   {"roof", &Server::roof, true},
    {"query", &Server::query, true},       {"prepare", &Server::prepare, true},
    {"execute", &Server::execute, true},   {"bench", &Server::bench, true},
    {"artifact", &Server::artifact, true}, {"destroy", &Server::destroy, true},
    {"close", &Server::close, false},      {nullptr, nullptr, false},
};

Server::Answer Server::load(Fields& fields, Frame&) {
    const auto options = optionsFrom(fields, "options");
    if (fields.problem()) return kNothing;
    const auto environment =
        chooseEnvironment(options, [](const char* name) -> const char* { return std::getenv(name); });
    for (const auto& [name, value] : environment.set) setenv(name.c_str(), value.c_str(), 1);
    options_ = pluginOptions(options);
    const auto table = loadTable(backend_);
    if (!table) return tl::unexpected(table.error());
    const auto read = readTable(*table);
    if (!read) return tl::unexpected(read.error());
    table_ = *table;
    return json{{"environment", wireOf(environment.report)},
                {"open_seconds", std::isfinite(read->open_seconds) ? read->open_seconds : 0}};
}

Server::Answer Server::probe(Fields& fields, Frame& frame) {
    const auto loaded = load(fields, frame);
    if (!loaded || fields.problem()) return loaded;
    return wired(probeTable(table_, options_, *host_));
}

Server::Answer Server::open(Fields&, Frame&) {
    if (!table_ || opened_) return tl::unexpected(Failure{RowState::Failed, "open: not loaded, or open already"});
    auto opened = LocalBackend::open(table_, options_, host_);
    if (!opened) return tl::unexpected(opened.error());
    const std::lock_guard lock(mutex_);
    opened_ = std::move(*opened);
    return kNothing;
}

Server::Answer Server::describe(Fields&, Frame&) {
    const auto text = opened_->describe();
    if (!text) return tl::unexpected(text.error());
    return json{{"text", *text}};
}

Server::Answer Server::devices(Fields&, Frame&) {
    const auto devices = opened_->devices();
    if (!devices) return tl::unexpected(devices.error());
    return json{{"devices", wireOf(*devices)}};
}

Server::Answer Server::roof(Fields& fields, Frame&) {
    const auto device = std::uint32_t(fields.count("device", UINT32_MAX));
    const auto kind = fields.text("kind", kText);
    Fields nested(fields.object("options"));
    const auto options = valueFrom<RunOptions>(nested);
    fields.take(nested);
    if (fields.problem()) return kNothing;
    const auto samples = opened_->roof(device, kind, options);
    if (!samples) return tl::unexpected(samples.error());
    json answer = wireOf(static_cast<const RunSamples&>(*samples));
    answer["work"] = samples->work;
    return answer;
}

Server::Answer Server::query(Fields& fields, Frame&) {
    const auto device = std::uint32_t(fields.count("device", UINT32_MAX));
    Fields nested(fields.object("problem"));
    const auto problem = valueFrom<Problem>(nested);
    fields.take(nested);
    if (fields.problem()) return kNothing;
    return wired(opened_->query(device, problem));
}

Server::Answer Server::prepare(Fields& fields, Frame& frame) {
    const auto device = std::uint32_t(fields.count("device", UINT32_MAX));
    const auto variant = fields.text("variant", kText);
    Fields nested(fields.object("problem"));
    const auto problem = valueFrom<Problem>(nested);
    fields.take(nested);
    takeBuffers(fields, frame);
    const auto inputs = tensors(fields, "inputs");
    if (fields.problem()) return kNothing;
    return wired(opened_->prepare(device, problem, variant, inputs));
}

Server::Answer Server::execute(Fields& fields, Frame& frame) {
    const auto kernel = fields.count("kernel", UINT64_MAX);
    takeBuffers(fields, frame);
    const auto act = tensors(fields, "act"), outs = tensors(fields, "outs");
    if (fields.problem()) return kNothing;
    if (const auto done = opened_->execute(kernel, act, outs); !done) return tl::unexpected(done.error());
    return kNothing;
}

Server::Answer Server::bench(Fields& fields, Frame& frame) {
    const auto kernel = fields.count("kernel", UINT64_MAX);
    Fields nested(fields.object("options"));
    const auto options = valueFrom<RunOptions>(nested);
    fields.take(nested);
    takeBuffers(fields, frame);
    const auto act = tensors(fields, "act"), outs = tensors(fields, "outs");
    if (fields.problem()) return kNothing;
    return wired(opened_->bench(kernel, act, options, outs.empty() ? nullptr : &outs.front()));
}

Server::Answer Server::artifact(Fields& fields, Frame&) {
    const auto kernel = fields.count("kernel", UINT64_MAX);
    const auto what = fields.text("what", kText);
    if (fields.problem()) return kNothing;
    const auto text = opened_->artifact(kernel, what);
    if (!text) return tl::unexpected(text.error());
    return *text ? json{{"text", **text}} : kNothing;
}

Server::Answer Server::destroy(Fields& fields, Frame&) {
    const auto kernel = fields.count("kernel", UINT64_MAX);
    if (!fields.problem()) opened_->destroy(kernel);
    return kNothing;
}

/// The answer is the last thing that this process says.
Server::Answer Server::close(Fields&, Frame&) {
    std::unique_ptr<LocalBackend> closing;
    {
        const std::lock_guard lock(mutex_);
        closing = std::move(opened_);
    }
    closing.reset();
    (void)control_.send({{"id", running_}, {"answer", kNothing}});
    _exit(0); // no destructor of a vendor library gets a second chance to crash
}

void Server::takeBuffers(Fields& fields, Frame& frame) {
    for (const auto& id : fields.array("drop", 1u << 16))
        if (id.is_number_unsigned()) buffers_.erase(id.get<std::uint64_t>());
    const auto& fresh = fields.array("buffers", kMostDescriptors);
    if (fresh.size() != frame.descriptors.size()) return fields.refuse("buffers and descriptors do not match");
    for (std::size_t i = 0; i < fresh.size(); ++i) {
        Fields item(fresh[i]);
        const auto id = item.count("id", UINT64_MAX), bytes = item.count("bytes", UINT64_MAX);
        fields.take(item);
        if (fields.problem()) return;
        auto buffer = SharedBuffer::adopt(std::move(frame.descriptors[i]), bytes);
        if (!buffer) return fields.refuse(buffer.error().sentence());
        buffers_[id] = std::move(*buffer);
    }
}

std::vector<HostTensor> Server::tensors(Fields& fields, const char* key) {
    std::vector<HostTensor> list;
    for (const auto& entry : fields.array(key, kMostDescriptors)) {
        Fields item(entry);
        HostTensor tensor{item.text("role", kText), item.text("dtype", kText), {}, nullptr, 0, 0};
        for (const auto& dim : item.array("dims", 4))
            if (dim.is_number_integer())
                tensor.dims.push_back(dim.get<std::int64_t>());
            else
                item.refuse("'dims' holds what is not a number");
        const auto at = buffers_.find(item.count("buffer", UINT64_MAX));
        if (at != buffers_.end()) tensor.buffer = at->second;
        tensor.offset = item.count("offset", UINT64_MAX);
        tensor.bytes = item.count("bytes", UINT64_MAX);
        fields.take(item);
        list.push_back(std::move(tensor)); // LocalBackend checks that it lies within its buffer
    }
    return list;
}

} // namespace qs::worker
