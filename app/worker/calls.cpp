// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/worker/calls.h"

#include "app/worker/environment.h"
#include "app/worker/plugin_library.h"
#include "core/bench/backend/wire_values.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace qs::worker {
namespace {

using nlohmann::json;

constexpr std::size_t kText = 4096;

/// Returned when the fields of a request are wrong. Server::answer() then ignores it and refuses the request.
const json kNothing = json::object();

void logToStderr(int level, std::string_view text) {
    static constexpr const char* kLevels[] = {"debug", "info", "warning", "error"};
    std::fprintf(stderr, "[%s] %.*s\n", kLevels[level], int(text.size()), text.data());
}

template<class T> Outcome<json> wired(const Outcome<T>& outcome) {
    if (!outcome) return tl::unexpected(outcome.error());
    return wireOf(*outcome);
}

} // namespace

const Calls::Call Calls::kCalls[] = {
    {"load", &Calls::load, false},        {"probe", &Calls::probe, false},      {"open", &Calls::open, false},
    {"describe", &Calls::describe, true}, {"devices", &Calls::devices, true},   {"roof", &Calls::roof, true},
    {"query", &Calls::query, true},       {"prepare", &Calls::prepare, true},   {"execute", &Calls::execute, true},
    {"bench", &Calls::bench, true},       {"artifact", &Calls::artifact, true}, {"destroy", &Calls::destroy, true},
    {"close", &Calls::close, false},
};

Calls::Calls(std::string backend) : backend_(std::move(backend)), host_(std::make_shared<PluginHost>()) {
    host_->log = logToStderr;
}

std::optional<Calls::Answer> Calls::answer(const std::string& name, Fields& fields, Frame& frame) {
    for (const Call& call : kCalls) {
        if (name != call.name) continue;
        if (call.opened && !opened_) return tl::unexpected(Failure{RowState::Failed, name + ": no backend is open"});
        return (this->*call.run)(fields, frame);
    }
    return std::nullopt;
}

void Calls::cancel() {
    const std::lock_guard lock(mutex_);
    host_->stop = true; // this stops open(), which has no context yet that could be cancelled
    if (opened_) opened_->cancel();
}

Calls::Answer Calls::load(Fields& fields, Frame&) {
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

Calls::Answer Calls::probe(Fields& fields, Frame& frame) {
    const auto loaded = load(fields, frame);
    if (!loaded || fields.problem()) return loaded;
    return wired(probeTable(table_, options_, *host_));
}

Calls::Answer Calls::open(Fields&, Frame&) {
    if (!table_ || opened_)
        return tl::unexpected(Failure{RowState::Failed, "open: the backend is not loaded, or already open"});
    auto opened = LocalBackend::open(table_, options_, host_);
    if (!opened) return tl::unexpected(opened.error());
    const std::lock_guard lock(mutex_);
    opened_ = std::move(*opened);
    return kNothing;
}

Calls::Answer Calls::describe(Fields&, Frame&) {
    const auto text = opened_->describe();
    if (!text) return tl::unexpected(text.error());
    return json{{"text", *text}};
}

Calls::Answer Calls::devices(Fields&, Frame&) {
    const auto devices = opened_->devices();
    if (!devices) return tl::unexpected(devices.error());
    return json{{"devices", wireOf(*devices)}};
}

Calls::Answer Calls::roof(Fields& fields, Frame&) {
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

Calls::Answer Calls::query(Fields& fields, Frame&) {
    const auto device = std::uint32_t(fields.count("device", UINT32_MAX));
    Fields nested(fields.object("problem"));
    const auto problem = valueFrom<Problem>(nested);
    fields.take(nested);
    if (fields.problem()) return kNothing;
    return wired(opened_->query(device, problem));
}

Calls::Answer Calls::prepare(Fields& fields, Frame& frame) {
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

Calls::Answer Calls::execute(Fields& fields, Frame& frame) {
    const auto kernel = fields.count("kernel", UINT64_MAX);
    takeBuffers(fields, frame);
    const auto act = tensors(fields, "act"), outs = tensors(fields, "outs");
    if (fields.problem()) return kNothing;
    if (const auto done = opened_->execute(kernel, act, outs); !done) return tl::unexpected(done.error());
    return kNothing;
}

Calls::Answer Calls::bench(Fields& fields, Frame& frame) {
    const auto kernel = fields.count("kernel", UINT64_MAX);
    Fields nested(fields.object("options"));
    const auto options = valueFrom<RunOptions>(nested);
    fields.take(nested);
    takeBuffers(fields, frame);
    const auto act = tensors(fields, "act"), outs = tensors(fields, "outs");
    if (fields.problem()) return kNothing;
    return wired(opened_->bench(kernel, act, options, outs.empty() ? nullptr : &outs.front()));
}

Calls::Answer Calls::artifact(Fields& fields, Frame&) {
    const auto kernel = fields.count("kernel", UINT64_MAX);
    const auto what = fields.text("what", kText);
    if (fields.problem()) return kNothing;
    const auto text = opened_->artifact(kernel, what);
    if (!text) return tl::unexpected(text.error());
    return *text ? json{{"text", **text}} : kNothing;
}

Calls::Answer Calls::destroy(Fields& fields, Frame&) {
    const auto kernel = fields.count("kernel", UINT64_MAX);
    if (!fields.problem()) opened_->destroy(kernel);
    return kNothing;
}

Calls::Answer Calls::close(Fields&, Frame&) {
    std::unique_ptr<LocalBackend> closing;
    {
        const std::lock_guard lock(mutex_);
        closing = std::move(opened_);
    }
    closing.reset();
    closed_ = true;
    return kNothing;
}

void Calls::takeBuffers(Fields& fields, Frame& frame) {
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

std::vector<HostTensor> Calls::tensors(Fields& fields, const char* key) {
    std::vector<HostTensor> list;
    for (const auto& entry : fields.array(key, kMostDescriptors)) {
        Fields item(entry);
        HostTensor tensor{item.text("role", kText), item.text("dtype", kText), {}, nullptr, 0, 0};
        for (const auto& dim : item.array("dims", 4))
            if (dim.is_number_integer())
                tensor.dims.push_back(dim.get<std::int64_t>());
            else
                item.refuse("'dims' holds something that is not a whole number");
        const auto at = buffers_.find(item.count("buffer", UINT64_MAX));
        if (at != buffers_.end()) tensor.buffer = at->second;
        tensor.offset = item.count("offset", UINT64_MAX);
        tensor.bytes = item.count("bytes", UINT64_MAX);
        fields.take(item);
        list.push_back(std::move(tensor)); // LocalBackend checks that the tensor lies within its buffer
    }
    return list;
}

} // namespace qs::worker
