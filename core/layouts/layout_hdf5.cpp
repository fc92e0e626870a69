// SPDX-License-Identifier: GPL-3.0-or-later
// The fields of the native layout, or decoded values where a spec has no codes, as datasets of one file of HDF5;
// attributes of NAME.codes say the spec, the shape, the dtype and the layout, one of the root group the version.
#include "core/layouts/layouts.h"

#include "core/layouts/fields.h"
#include "core/layouts/stored.h"
#include "core/layouts/write_model.h"
#include "core/model/hdf5/hdf5_write.h"

#include <nlohmann/json.hpp>

namespace qs {
namespace {

constexpr const char* kVersion = "1";

const Layout& layoutFor(const QuantSpec& spec) {
    static const Layout plain = plainLayout(), native = nativeLayout();
    return spec.traits().kind == FormatKind::Identity ? plain : native;
}

Result<void> accepts(const QuantSpec& spec, std::span<const std::int64_t> shape) {
    return layoutFor(spec).accepts(spec, shape);
}

Result<OutputFields> fields(MeasuredTensor& tensor) { return layoutFor(tensor.spec()).fields(tensor); }

/// `text`: see storedText().
Hdf5Attributes attributesOf(const std::string& text) {
    const auto said = nlohmann::json::parse(text);
    Hdf5Attributes out;
    for (const char* key : {"spec", "dtype", "layout"})
        out.texts["quantscope_" + std::string(key)] = said.at(key).get<std::string>();
    if (said.value("column_scale", false)) out.texts["quantscope_column_scale"] = "true";
    out.numbers["quantscope_shape"] = said.at("shape").get<std::vector<std::int64_t>>();
    return out;
}

Result<WrittenFiles> writeFile(const Model& model, std::vector<OutputShard> shards, const std::string& output,
                               const Job& job, const Finish& finish) {
    TensorsToWrite all = inOne(std::move(shards)).tensors;
    std::map<std::string, Hdf5Attributes> described;
    (void)all.eachDescription([&](const std::string& key, const std::string& text) {
        const std::string name = key.substr(kStoredPrefix.size());
        const auto said = attributesOf(text);
        described[name] = said, described[name + ".codes"] = said; // the file has one of the two
        return Result<void>();
    });
    described[""].texts["quantscope_hdf5"] = kVersion;
    const auto bytes = writeHdf5(output, std::move(all), described, &model, job, finish.naming(output));
    if (!bytes) return tl::unexpected(bytes.error());
    return WrittenFiles{{output}, *bytes, 0, 0};
}

} // namespace

Layout hdf5Layout() {
    return {.id = "hdf5",
            .title = "HDF5",
            .summary = "NAME.codes, NAME.scale and so on, as in layout native, as datasets of one file NAME.h5, with "
                       "the spec, the shape and the dtype as attributes; for h5py.",
            .takes = "every spec",
            .accepts = accepts,
            .fields = fields,
            .columnScales = true,
            .ownFields = OwnFields::Native,
            .writeFiles = writeFile,
            .fileEnding = ".h5",
            .mostTensors = 100'000};
}

} // namespace qs
