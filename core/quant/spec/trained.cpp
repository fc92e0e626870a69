// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/quant/spec/trained.h"

#include "core/base/text.h"
#include "core/model/safetensors/safetensors.h"
#include "core/quant/spec/dialect.h"

#include <algorithm>
#include <deque>
#include <filesystem>
#include <fmt/format.h>
#include <mutex>
#include <xxhash.h>

namespace qs {
namespace {

constexpr std::size_t kMost = 256;
constexpr std::size_t kCheckedPiece = std::size_t(1) << 20;
constexpr const char* kSpec = "quantscope.trained.spec";
constexpr const char* kMade = "quantscope.trained.made";
constexpr std::string_view kOf = "quantscope.trained.of.";

struct Known {
    std::mutex mutex;
    std::deque<TrainedSpec> list; // callers keep pointers
};
Known& known() {
    static Known all;
    return all;
}

bool goodId(std::string_view id) {
    const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
    return !id.empty() && id.size() <= 32 && id[0] >= 'a' && id[0] <= 'z' && std::ranges::all_of(id, plain);
}

std::string fingerprint(const TensorView& view) {
    XXH3_state_t* state = XXH3_createState();
    XXH3_64bits_reset(state);
    std::vector<std::byte> scratch;
    for (std::uint64_t at = 0; at < view.info->bytes; at += kCheckedPiece) {
        const auto piece =
            view.read(at, std::size_t(std::min<std::uint64_t>(kCheckedPiece, view.info->bytes - at)), scratch);
        XXH3_64bits_update(state, piece.data(), piece.size());
    }
    const auto sum = XXH3_64bits_digest(state);
    XXH3_freeState(state);
    return fmt::format("{:016x}", std::uint64_t(sum));
}

Result<void> add(TrainedSpec trained) {
    auto& all = known();
    const std::lock_guard lock(all.mutex);
    if (all.list.size() >= kMost) return fail(fmt::format("there are {} trained specs already: no more fit", kMost));
    all.list.push_back(std::move(trained));
    return {};
}

Result<TrainedSpec> read(const std::string& path) {
    const auto wrong = [&](const std::string& why) {
        return fail(fmt::format("{}: {}", escapeForPeople(path, 160), why), path);
    };
    const auto model = openModel(path);
    if (!model) return tl::unexpected(model.error());
    const auto& metadata = (*model)->files.front().metadata;
    const auto spec = metadata.find(kSpec), made = metadata.find(kMade);
    if (spec == metadata.end()) return wrong("it holds no trained spec");
    const auto base = parseSpec(spec->second);
    if (!base) return failAt(escapeForPeople(path, 160), base.error());
    if (isTrained(*base)) return wrong("its spec is a trained one itself");
    TrainedSpec out{std::filesystem::path(path).stem().string(), *base, {}, *model, {}};
    if (made != metadata.end()) out.made = made->second;
    for (const auto& [key, value] : metadata)
        if (key.starts_with(kOf)) out.originals.emplace_back(key.substr(kOf.size()), value);
    for (const auto& tensor : (*model)->tensors)
        if (tensor.dtype != DType::F32) return wrong("its latent weights are not F32");
    if (out.originals.empty()) return wrong("it names no tensor");
    return out;
}

} // namespace

const TrainedSpec* findTrained(std::string_view id) {
    auto& all = known();
    const std::lock_guard lock(all.mutex);
    for (const auto& each : all.list)
        if (each.id == id) return &each;
    return nullptr;
}

bool isTrained(const QuantSpec& spec) { return spec.dialect && findTrained(*spec.dialect); }

QuantSpec withoutTrained(const QuantSpec& spec) {
    QuantSpec plain = spec;
    if (const auto* trained = spec.dialect ? findTrained(*spec.dialect) : nullptr)
        plain.dialect = trained->base.dialect;
    return plain;
}

Result<void> checkTrainedId(const std::string& id, const QuantSpec& base) {
    if (!goodId(id))
        return fail(
            fmt::format("'{}' is no name for a trained spec: use a to z, digits and _, at most 32, a letter first",
                        escapeForPeople(id, 40)));
    for (const auto& format : formats())
        if (findDialect(id, format))
            return fail(fmt::format("{} is a dialect of {}: choose another name", id, format.id));
    if (findTrained(id)) return fail(fmt::format("there is a trained spec {} already: choose another name", id));
    if (isTrained(base))
        return fail(fmt::format("{} is trained already: train {}", specText(base), specText(withoutTrained(base))));
    if (base.traits().kind == FormatKind::Identity)
        return fail(fmt::format("{} rounds nothing that training could move", base.format));
    return {};
}

Result<QuantSpec> saveTrained(const std::string& id, const QuantSpec& base, const TrainedTensor& tensor,
                              const std::string& folder, const Job& job) {
    if (auto fine = checkTrainedId(id, base); !fine) return tl::unexpected(fine.error());
    if (folder.empty()) return fail("there is no folder for trained specs: set QUANTSCOPE_FORMATS or HOME");
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error)
        return fail(fmt::format("the folder {} cannot be made: {}", escapeForPeople(folder, 160), error.message()));
    const std::string path = folder + "/" + id + ".safetensors";
    if (std::filesystem::exists(path, error))
        return fail(fmt::format("{} is there already: choose another name", escapeForPeople(path, 160)));
    const TensorInfo& info = *tensor.original.info;
    TensorToWrite latent{info.name, DType::F32, info.shape, [values = tensor.latent](const TensorToWrite::Sink& sink) {
                             return sink(std::as_bytes(std::span(*values)));
                         }};
    std::map<std::string, std::string> metadata{{kSpec, specText(base)}, {kMade, tensor.made}};
    metadata[std::string(kOf) + info.name] = fingerprint(tensor.original);
    const auto written = writeSafetensors(path, {latent}, metadata, nullptr, job);
    if (!written) return tl::unexpected(written.error());
    auto back = read(path); // as the next run will
    if (!back) return tl::unexpected(back.error());
    if (auto added = add(std::move(*back)); !added) return tl::unexpected(added.error());
    QuantSpec spec = base;
    spec.dialect = id;
    return spec;
}

std::vector<std::string> loadTrained(const std::string& folder) {
    std::vector<std::string> problems, paths;
    std::error_code error;
    for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
        if (at->path().extension() == ".safetensors" && paths.size() < kMost) paths.push_back(at->path().string());
    std::ranges::sort(paths);
    for (const auto& path : paths) {
        auto trained = read(path);
        if (trained) {
            const auto fine = checkTrainedId(trained->id, trained->base);
            const auto added = fine ? add(std::move(*trained)) : fine;
            if (!added) problems.push_back(fmt::format("{}: {}", escapeForPeople(path, 160), added.error().sentence()));
        } else
            problems.push_back(trained.error().sentence());
    }
    return problems;
}

std::optional<TensorView> trainedSource(const TensorView& view, const QuantSpec& spec) {
    const auto* trained = spec.dialect ? findTrained(*spec.dialect) : nullptr;
    if (!trained) return std::nullopt;
    const auto& originals = trained->originals;
    const auto of = std::ranges::find_if(originals, [&](const auto& each) { return each.first == view.info->name; });
    const auto* latent = trained->latents->find(view.info->name);
    if (of == originals.end() || !latent || latent->shape != view.info->shape || of->second != fingerprint(view))
        return std::nullopt;
    auto source = trained->latents->view(*latent);
    if (!source) return std::nullopt;
    return *source;
}

} // namespace qs
