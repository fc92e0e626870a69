// SPDX-License-Identifier: GPL-3.0-or-later
// quantize and dequantize: what is written is core's; here is what was asked and what came out.
#include "app/cli/declare.h"
#include "app/cli/interrupt.h"
#include "app/cli/output_files.h"
#include "app/cli/selection.h"
#include "app/cli/terminal.h"
#include "core/base/text.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace qs::cli {
namespace {

struct QuantizeOptions {
    std::string path, spec, layout = "eformer", output;
    std::vector<std::string> filters;
};

struct DequantizeOptions {
    std::string path, decode, output;
};

Result<void> report(const WrittenFiles& written, const std::string& output, const std::string& verb) {
    std::string text = fmt::format("Wrote {} ({}): {} {}, {} copied.\n", escapeForPeople(output, 300),
                                   bytesText(written.bytes), written.quantizedTensors, verb, written.copiedTensors);
    return print(text);
}

Result<void> quantize(const QuantizeOptions& options) {
    const auto spec = parseSpec(options.spec);
    if (!spec) return tl::unexpected(spec.error());
    if (!findLayout(options.layout)) {
        std::string known;
        for (const auto& layout : layouts()) known += (known.empty() ? "" : ", ") + std::string(layout.id);
        return fail(
            fmt::format("There is no layout '{}'; the layouts are {}.", escapeForPeople(options.layout), known));
    }
    auto model = open(options.path);
    if (!model) return tl::unexpected(model.error());
    if (auto fine = notAnInput(options.output, **model); !fine) return fine;
    if (auto taken = select(**model, options.filters); !taken) return tl::unexpected(taken.error());
    auto written =
        quantizeModel(**model, {*spec, joined(options.filters), options.layout, options.output}, processJob());
    if (!written) return tl::unexpected(written.error());
    return report(*written, options.output, "tensors as " + escapeForPeople(options.spec));
}

Result<void> dequantize(const DequantizeOptions& options) {
    auto model = open(options.path);
    if (!model) return tl::unexpected(model.error());
    if (auto fine = notAnInput(options.output, **model); !fine) return fine;
    std::optional<Decode> decode;
    if (!options.decode.empty()) decode = options.decode == "poly" ? Decode::Poly : Decode::Table;
    auto written = dequantizeModel(**model, decode, options.output, processJob());
    if (!written) return tl::unexpected(written.error());
    return report(*written, options.output, "tensors decoded");
}

} // namespace

Run declareQuantize(CLI::App& app) {
    auto options = std::make_shared<QuantizeOptions>();
    addPath(app, options->path);
    app.add_option("--spec", options->spec, "What to quantize to, for instance nf4:block=64; see `formats`")
        ->required()
        ->type_name("SPEC");
    addTensorFilters(app, options->filters);
    app.add_option("--layout", options->layout, "How it is stored (default: eformer); see `layouts`")
        ->type_name("LAYOUT");
    app.add_option("-o,--output", options->output, "A .safetensors file, or a Hugging Face folder")
        ->required()
        ->type_name("OUT");
    return [options] { return quantize(*options); };
}

Run declareDequantize(CLI::App& app) {
    auto options = std::make_shared<DequantizeOptions>();
    addPath(app, options->path);
    app.add_option("--decode", options->decode,
                   "Decode 4-bit codes by table or by polynomial (default: as the file says)")
        ->check(CLI::IsMember({"table", "poly"}))
        ->type_name("table|poly");
    app.add_option("-o,--output", options->output, "A .safetensors file, or a Hugging Face folder")
        ->required()
        ->type_name("OUT");
    return [options] { return dequantize(*options); };
}

} // namespace qs::cli
