// SPDX-License-Identifier: GPL-3.0-or-later
// GPTQ's container, whoever chose the codes: NAME without ".weight" and .qweight, .qzeros, .scales, .g_idx, all with the
// inputs of a layer along the first axis. Source: AutoGPTQ qlinear_cuda_old.py; checkpoint_format gptq stores zero
// points less 1, gptq_v2 as they are.
#include "core/layouts/layouts.h"

#include "core/base/parallel.h"
#include "core/base/text.h"
#include "core/layouts/linear_weights.h"
#include "core/layouts/word_packing.h"
#include "core/quant/encode/unit_of.h"
#include "core/quant/spec/code_set.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace qs {
namespace {

using Sink = TensorToWrite::Sink;
using SharedSource = std::shared_ptr<Source>;
constexpr std::uint64_t kSlabCodes = std::uint64_t(16) << 20; ///< in memory, one a byte
constexpr std::uint64_t kSlabOutputs = 256;                   ///< at least: pieces of rows that are written

Result<void> accepts(const QuantSpec& spec, std::span<const std::int64_t> shape) {
    const int bits = spec.traits().bits;
    const bool rows = spec.hasScalePerRow();
    if (!hasIntegerCodes(spec) || (bits != 2 && bits != 3 && bits != 4 && bits != 8) ||
        scaleTypeOf(spec) != ScaleType::F16 || spec.tiles || (spec.scaleKind() != ScaleKind::Block && !rows))
        return fail(fmt::format("the gptq layout holds int2, int3, int4 and int8 with f16 scales per group or row, not "
                                "{}: use int4:dialect=ct:block=128:scaletype=f16",
                                specText(spec)));
    const auto grid = scaleGrid(spec, shape);
    if (!grid) return tl::unexpected(grid.error());
    if (shape.size() != 2 || shape[0] % 32 != 0 || shape[1] % 32 != 0)
        return fail(
            fmt::format("the gptq layout needs matrices whose sides are multiples of 32, not {}", shapeText(shape)));
    return hasWholeGroups(spec, *grid, "gptq");
}

Result<void> holds(const TensorInfo& tensor) {
    if (auto named = hasWeightName(tensor); !named) return named;
    // gptqmodel would take its codes; transformers leaves the head at random values, with a warning alone.
    if (moduleOf(tensor.name) == "lm_head")
        return fail("lm_head stays in its own dtype, because transformers looks for codes within the blocks alone");
    return isLinearWeight(tensor);
}

/// `columns` streams of `rows` codes become words side by side.
std::vector<std::uint32_t> packedDown(const std::vector<std::uint8_t>& codes, std::size_t columns, std::size_t rows,
                                      unsigned bits) {
    const auto words = std::size_t(wordsOf(rows, bits));
    std::vector<std::uint32_t> out(words * columns), one(words);
    for (std::size_t c = 0; c < columns; ++c) {
        packWords(codes.data() + c * rows, rows, bits, reinterpret_cast<std::byte*>(one.data()));
        for (std::size_t w = 0; w < words; ++w) out[w * columns + c] = one[w];
    }
    return out;
}

Result<void> produceWeight(Source& source, const Sink& sink) {
    const auto outputs = std::size_t(source.grid.rows), inputs = std::size_t(source.grid.features);
    const auto codes = codesOfColumns(source, 0, inputs); // [out, in]: a stream for each output
    if (!codes) return tl::unexpected(codes.error());
    const auto packed = packedDown(*codes, outputs, inputs, unsigned(source.spec.traits().bits));
    return sinkBytes(sink, std::as_bytes(std::span(packed)));
}

Result<void> produceZeros(Source& source, const Sink& sink) {
    const auto zeros = unsignedZeros(source); // [out, groups]
    if (!zeros) return tl::unexpected(zeros.error());
    const auto bits = unsigned(source.spec.traits().bits);
    const auto rows = std::size_t(source.grid.rows), groups = rows ? zeros->size() / rows : 0;
    const int less = hasZeroPoints(source.spec) ? 0 : 1;
    const auto words = std::size_t(wordsOf(rows, bits));
    std::vector<std::byte> out(groups * words * 4);
    std::vector<std::uint8_t> row(rows);
    for (std::size_t g = 0; g < groups; ++g) {
        for (std::size_t r = 0; r < rows; ++r) row[r] = std::uint8_t((*zeros)[r * groups + g] - less);
        packWords(row.data(), rows, bits, out.data() + g * words * 4);
    }
    return sinkBytes(sink, out);
}

Result<void> produceScales(Source& source, const Sink& sink) {
    const auto scales = allScales(source);
    if (!scales) return tl::unexpected(scales.error());
    const auto rows = std::size_t(source.grid.rows), groups = rows ? scales->size() / rows : 0;
    std::vector<float> turned(scales->size());
    for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t g = 0; g < groups; ++g) turned[g * rows + r] = (*scales)[r * groups + g];
    return sinkFloats(sink, DType::F16, turned);
}

std::int64_t groupOf(const Source& source) {
    return source.grid.kind == ScaleKind::Block ? std::int64_t(source.spec.blockSize()) : source.grid.features;
}

/// Columns [first, first + piece.size() / rows) of `rows` rows that are `stride` bytes long in the file.
Result<void> putColumns(const ProducedTogether::Place& place, std::span<const std::byte> piece, std::uint64_t rows,
                        std::uint64_t first, std::uint64_t stride) {
    const std::uint64_t width = rows > 0 ? piece.size() / rows : 0;
    if (width == stride) return sinkBytes([&](auto all) { return place(0, all); }, piece);
    for (std::uint64_t row = 0; row < rows; ++row)
        if (auto put = place(row * stride + first, piece.subspan(std::size_t(row * width), std::size_t(width))); !put)
            return put;
    return {};
}

/// A slab of outputs at a time, whose codes, zero points and scales are columns of the tensors in the file.
class SlabsOfOutputs {
public:
    explicit SlabsOfOutputs(Source& source)
        : source_(source), outputs_(std::uint64_t(source.grid.rows)), inputs_(std::uint64_t(source.grid.features)),
          groups_(inputs_ / std::uint64_t(std::max<std::int64_t>(1, groupOf(source)))),
          bits_(unsigned(source.spec.traits().bits)), offset_(unsignedOffset(source.spec)), unsignedZero_(source) {}

    /// Places of qweight, qzeros and scales.
    Result<void> produce(std::span<const ProducedTogether::Place> places) {
        const auto prepared = source_.prepared();
        if (!prepared) return tl::unexpected(prepared.error());
        auto encoders = (*prepared)->encoders(source_.spec, source_.view.info->dtype);
        const std::uint64_t slab = std::max(kSlabOutputs, kSlabCodes / std::max<std::uint64_t>(1, inputs_) / 32 * 32);
        for (std::uint64_t first = 0; first < outputs_; first += slab) {
            const std::uint64_t last = std::min(outputs_, first + slab);
            if (auto coded = encode(**prepared, encoders, first, last); !coded) return coded;
            const auto rows = std::size_t(last - first);
            const auto words = packed(rows);
            if (auto put = putColumns(places[0], std::as_bytes(std::span(words)), wordsOf(inputs_, bits_), first * 4,
                                      outputs_ * 4);
                !put)
                return put;
            if (auto put = putParameters(places, first, rows); !put) return put;
        }
        return {};
    }

private:
    Result<void> encode(const TensorPass& pass, std::vector<RunEncoder>& encoders, std::uint64_t first,
                        std::uint64_t last) {
        const std::uint64_t begin = first * inputs_, end = last * inputs_;
        codes_.resize(std::size_t(end - begin));
        const auto& shared = pass.shared();
        params_.assign(std::size_t((last - first) * groups_), {});
        if (!shared.empty())
            std::copy_n(shared.begin() + std::ptrdiff_t(first * groups_), params_.size(), params_.begin());
        return pass.run(unitOf(pass, begin), unitOf(pass, end - 1) + 1, source_.job, [&](const PassRange& range) {
            thread_local std::vector<std::uint8_t> codes;
            thread_local std::vector<GroupParams> params;
            RunEncoder& encoder = encoders[range.worker];
            Run run = range.run;
            if (shared.empty()) {
                params.resize((range.n + run.group - 1) / run.group);
                encoder.params(run, params.data());
                run.given = params.data(), run.givenStride = 1;
            }
            codes.resize(range.n);
            RunOut out;
            out.codes = codes.data();
            encoder(run, out);
            moveCodes(codes.data(), range.n, offset_);
            // Units may begin before the slab and end behind it.
            const std::uint64_t from = std::max(range.begin, begin), to = std::min(range.begin + range.n, end);
            if (from >= to) return;
            std::copy_n(codes.begin() + std::ptrdiff_t(from - range.begin), to - from,
                        codes_.begin() + std::ptrdiff_t(from - begin));
            if (!shared.empty()) return;
            const std::uint64_t skip = (from - range.begin) / run.group, count = (to - from) / run.group;
            std::copy_n(params.begin() + std::ptrdiff_t(skip), count,
                        params_.begin() + std::ptrdiff_t(range.firstGroup + skip - first * groups_));
        });
    }

    /// Words of all inputs for the outputs of the slab; 16 streams at a time are a line of the cache.
    std::vector<std::uint32_t> packed(std::size_t rows) const {
        const auto words = std::size_t(wordsOf(inputs_, bits_));
        std::vector<std::uint32_t> out(words * rows);
        parallelFor((rows + 15) / 16, 1, [&](std::size_t from, std::size_t to, unsigned) {
            std::vector<std::uint32_t> streams(16 * words);
            for (std::size_t tile = from; tile < to; ++tile) {
                const std::size_t first = tile * 16, n = std::min<std::size_t>(16, rows - first);
                for (std::size_t r = 0; r < n; ++r)
                    packWords(codes_.data() + (first + r) * inputs_, std::size_t(inputs_), bits_,
                              reinterpret_cast<std::byte*>(streams.data() + r * words));
                for (std::size_t w = 0; w < words; ++w)
                    for (std::size_t r = 0; r < n; ++r) out[w * rows + first + r] = streams[r * words + w];
            }
        });
        return out;
    }

    Result<void> putParameters(std::span<const ProducedTogether::Place> places, std::uint64_t first,
                               std::size_t rows) const {
        const int less = hasZeroPoints(source_.spec) ? 0 : 1;
        const auto words = std::size_t(wordsOf(rows, bits_));
        std::vector<std::byte> zeros(std::size_t(groups_) * words * 4), scales(std::size_t(groups_) * rows * 2);
        std::vector<std::uint8_t> codes(rows);
        std::vector<float> column(rows);
        for (std::size_t g = 0; g < groups_; ++g) {
            for (std::size_t r = 0; r < rows; ++r) {
                const GroupParams& one = params_[r * std::size_t(groups_) + g];
                const auto zero = unsignedZero_(one, (first + r) * groups_ + g);
                if (!zero) return tl::unexpected(zero.error());
                codes[r] = std::uint8_t(*zero - less), column[r] = one.scale;
            }
            packWords(codes.data(), rows, bits_, zeros.data() + g * words * 4);
            appendAs(DType::F16, column.data(), rows, scales.data() + g * rows * 2);
        }
        if (auto put = putColumns(places[1], zeros, groups_, first * bits_ / 8, outputs_ * bits_ / 8); !put) return put;
        return putColumns(places[2], scales, groups_, first * 2, outputs_ * 2);
    }

    Source& source_;
    std::uint64_t outputs_, inputs_, groups_;
    unsigned bits_;
    int offset_;
    UnsignedZero unsignedZero_;
    std::vector<std::uint8_t> codes_;
    std::vector<GroupParams> params_;
};

Result<std::vector<TensorToWrite>> writeFrom(const SharedSource& source) {
    const TensorInfo& original = *source->view.info;
    auto ok = holds(original);
    if (ok) ok = accepts(source->spec, original.shape);
    if (!ok) return fail(fmt::format("tensor '{}': {}", escapeForPeople(original.name), ok.error().message));
    const std::string module(moduleOf(original.name));
    const std::int64_t outputs = original.shape[0], inputs = original.shape[1], bits = source->spec.traits().bits;
    const std::int64_t group = groupOf(*source), groups = inputs > 0 ? inputs / group : 0;
    const auto field = [&](const char* name, DType dtype, std::vector<std::int64_t> shape,
                           Result<void> (*produce)(Source&, const Sink&)) {
        return TensorToWrite{module + name, dtype, std::move(shape),
                             [source, produce](const Sink& sink) { return produce(*source, sink); }};
    };
    std::vector fields{field(".qweight", DType::I32, {inputs * bits / 32, outputs}, produceWeight),
                       field(".qzeros", DType::I32, {groups, outputs * bits / 32}, produceZeros),
                       field(".scales", DType::F16, {groups, outputs}, produceScales),
                       field(".g_idx", DType::I32, {inputs}, [](Source& from, const Sink& sink) {
                           std::vector<std::int32_t> index(std::size_t(from.grid.features));
                           for (std::size_t i = 0; i < index.size(); ++i)
                               index[i] = std::int32_t(std::int64_t(i) / groupOf(from));
                           return sinkBytes(sink, std::as_bytes(std::span(index)));
                       })};
    if (source->view.info->bytes <= kReadBytes) return fields;
    auto together = std::make_shared<ProducedTogether>();
    for (const TensorToWrite& one : fields) together->names.push_back(one.name);
    together->produce = [source, index = fields.back().produce](auto places) -> Result<void> {
        auto done = SlabsOfOutputs(*source).produce(places);
        source->pass.reset();
        return done ? index([&](auto bytes) { return places[3](0, bytes); }) : done;
    };
    for (TensorToWrite& one : fields) one.together = together;
    return fields;
}

Result<std::vector<TensorToWrite>> write(const TensorView& view, const QuantSpec& spec, const Job& job) {
    const auto source = makeSource(view, spec, job);
    if (!source) return tl::unexpected(source.error());
    return writeFrom(*source);
}

Result<std::string> config(const Model& model, std::span<const TakenTensor> taken) {
    const QuantSpec& first = taken.front().spec();
    const auto groupSize = [](const QuantSpec& spec) {
        return spec.scaleKind() == ScaleKind::Block ? std::int64_t(spec.blockSize()) : -1;
    };
    for (const TakenTensor& one : taken)
        if (one.spec().traits().bits != first.traits().bits || hasZeroPoints(one.spec()) != hasZeroPoints(first) ||
            groupSize(one.spec()) != groupSize(first))
            return fail(
                fmt::format("the gptq layout has one width, group and kind of zero points for a model, not {} and {}: "
                            "layout compressed-tensors mixes them",
                            specText(first), specText(one.spec())));
    nlohmann::ordered_json json;
    json["quant_method"] = "gptq";
    json["bits"] = first.traits().bits;
    json["group_size"] = groupSize(first);
    json["desc_act"] = false;
    json["sym"] = !hasZeroPoints(first);
    json["lm_head"] = false;
    json["checkpoint_format"] = hasZeroPoints(first) ? "gptq_v2" : "gptq";
    json["pack_dtype"] = "int32";
    nlohmann::ordered_json kept = nlohmann::ordered_json::object();
    bool whole = true; // every layer that transformers replaces
    for (const auto& module : keptModules(model, taken)) {
        kept["-:" + module] = nlohmann::ordered_json::object();
        whole = whole && module == "lm_head";
    }
    json["dynamic"] = std::move(kept);
    if (!whole) { // what "dynamic" says to gptqmodel, for transformers
        nlohmann::ordered_json modules = nlohmann::ordered_json::array();
        for (const TakenTensor& one : taken) modules.push_back(std::string(moduleOf(one.tensor->name)));
        json["modules_in_block_to_quantize"] = nlohmann::ordered_json::array({std::move(modules)});
    }
    return nlohmann::ordered_json{{"quantization_config", std::move(json)}}.dump();
}

} // namespace

Layout gptqLayout() {
    return {.id = "gptq",
            .title = "GPTQ",
            .summary =
                "P.qweight, P.qzeros, P.scales and P.g_idx of a layer P, rounded to nearest or by --solver gptq; "
                "quantization_config for transformers, gptqmodel and vLLM.",
            .takes = "int2, int3, int4, int8 with f16 scales per group or row; matrices of linear layers",
            .accepts = accepts,
            .write = write,
            .writeFrom = writeFrom,
            .holds = holds,
            .config = config,
            .describes = false};
}

} // namespace qs
