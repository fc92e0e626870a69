// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Captures of the small networks in tests/data/eval.

#include "core/eval/capture/capture.h"
#include "core/eval/tokenizer/token_file.h"
#include "core/quant/encode/quantizer.h"

#include <QTemporaryDir>

namespace qs::eval::test {

inline constexpr std::size_t kCaptureContext = 8;

inline std::string folderOf(const QString& family) { return "tests/data/eval/" + family.toStdString(); }

inline std::shared_ptr<const Model> opened(const std::string& path) {
    const auto model = openModel(path);
    if (!model) qFatal("%s", model.error().message.c_str());
    return *model;
}

inline CapturePlan planOf(const QString& family) {
    const auto tokens = readTokens(folderOf(family) + "/tokens.npy");
    if (!tokens) qFatal("%s", tokens.error().message.c_str());
    CapturePlan plan;
    plan.text = {"a text.txt", "0123", *tokens};
    plan.context = kCaptureContext;
    return plan;
}

inline std::vector<float> valuesOf(const Model& model, const std::string& name) {
    const TensorInfo* tensor = model.find(name);
    if (!tensor) qFatal("%s is missing", name.c_str());
    std::vector<float> out(tensor->elements);
    loadF32(*model.view(*tensor), 0, out.size(), out.data());
    return out;
}

/// A capture of a family's network into a temporary file.
class Capture {
public:
    Capture(const QString& family, const char* file, const char* what = "", CapturePlan plan = {})
        : path_(dir_.filePath(QString::fromLatin1(file)).toStdString()) {
        if (plan.text.tokens.empty()) plan = planOf(family);
        const auto kind = captureKindOf(path_, what);
        if (!kind) qFatal("%s", kind.error().message.c_str());
        const auto done = (*kind)->write(opened(folderOf(family)), plan, path_, Job());
        if (!done) qFatal("%s", done.error().message.c_str());
        captured_ = *done;
    }
    const std::string& path() const { return path_; }
    const Captured& captured() const { return captured_; }
    std::shared_ptr<const Model> model() const { return opened(path_); }

private:
    QTemporaryDir dir_;
    std::string path_;
    Captured captured_;
};

} // namespace qs::eval::test
