// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/worker/hdf5/reader.h"

#include "app/worker/hdf5/file_driver.h"
#include "app/worker/hdf5/image.h"
#include "app/worker/hdf5/plan.h"
#include "app/worker/hdf5/range.h"
#include "app/worker/hdf5/sandbox.h"
#include "app/worker/hdf5/walk.h"
#include "core/model/hdf5/window.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace qs::worker {
namespace {

using nlohmann::json;

constexpr std::size_t kRowsAtOnce = 1000, kTextAtOnce = 256u << 10; // such an answer fits a frame, escapes included

/// The innermost message of the last HDF5 call that failed; the outer messages only name the calling functions. It is
/// saved when the error happens, because the next HDF5 call clears the error stack, even a call that closes something.
std::string lastFault = "no reason is given";

herr_t keepFault(hid_t stack, void*) {
    lastFault.clear();
    return H5Ewalk2(
        stack, H5E_WALK_UPWARD,
        [](unsigned, const H5E_error2_t* error, void*) -> herr_t {
            if (lastFault.empty() && error->desc) lastFault.assign(error->desc, strnlen(error->desc, 200));
            return 0;
        },
        nullptr);
}

class Reader {
public:
    Reader(Descriptor control, int file, unsigned char* window, std::uint64_t windowBytes)
        : control_(std::move(control)), descriptor_(file), window_(window), windowBytes_(windowBytes) {}

    [[noreturn]] void serve() {
        for (;;) {
            auto frame = control_.receive();
            if (!frame) _exit(0); // the program has ended, or sent something that is not a frame
            if (!*frame) {
                pollfd ready{control_.descriptor(), POLLIN, 0};
                poll(&ready, 1, -1);
                continue;
            }
            Fields fields((*frame)->body);
            const auto id = fields.count("id", UINT64_MAX);
            const auto call = fields.text("call", 16);
            std::string failure;
            beginProgress(reinterpret_cast<std::uint64_t*>(window_ + kHdf5ProgressAt));
            const json answer = answerTo(call, fields, failure);
            if (fields.problem()) failure = *fields.problem();
            json message = {{"id", id}};
            if (failure.empty())
                message["answer"] = answer;
            else
                message["failure"] = failure;
            if (!control_.send(message)) _exit(0);
        }
    }

private:
    json answerTo(const std::string& call, Fields& fields, std::string& failure) {
        if (call == "open") return open(fields, failure);
        if (call == "rows") return rows(fields);
        if (call == "read") return read(fields, failure);
        if (call == "write") return write(fields, failure);
        if (call == "plan") return plan(fields, failure);
        if (call == "probe") return probe();
        failure = "the request is not known";
        return {};
    }

    void visiting(const std::string& path) {
        const auto length = std::min<std::size_t>(path.size(), kHdf5ProgressAt - 1);
        std::memcpy(window_, path.data(), length);
        window_[length] = 0;
        countProgress();
    }

    json open(Fields& fields, std::string& failure) {
        const FilePart part{descriptor_, fields.count("base", INT64_MAX), fields.count("length", INT64_MAX)};
        if (fields.problem()) return {};
        visiting("/");
        file_ = openPart(part);
        if (!file_) {
            failure = lastFault;
            return {};
        }
        failure = walk(file_.get(), part.length, found_, [this](const std::string& path) { visiting(path); });
        json metadata = json::object();
        visiting("/");
        const ObjectHandle root(H5Oopen(file_.get(), "/", H5P_DEFAULT));
        for (const char* name : {"keras_version", "backend", "quantscope_session", "quantscope_hdf5"})
            if (auto text = root ? textAttribute(root.get(), name, 256) : std::string(); !text.empty())
                metadata[name] = text;
        return {{"rows", found_.size()}, {"metadata", metadata}};
    }

    json rows(Fields& fields) {
        const auto from = fields.count("from", found_.size());
        json rows = json::array();
        std::size_t text = 0;
        for (auto i = from; i < found_.size() && rows.size() < kRowsAtOnce && text < kTextAtOnce; ++i) {
            const Found& f = found_[i];
            text += f.path.size() + f.reason.size() + f.quantizedText + 200;
            json row = {{"path", f.path}};
            if (!f.reason.empty()) {
                row["reason"] = f.reason;
                if (f.isUnread) row["unread"] = true;
            } else {
                row.update({{"type", f.type}, {"shape", f.shape}, {"stored", f.stored}, {"note", f.note}});
                if (!f.dtypeAttribute.empty()) row["dtype"] = f.dtypeAttribute;
                if (!f.quantized.empty()) row["quantized"] = f.quantized, row["quantized_shape"] = f.quantizedShape;
                if (f.plain) row["offset"] = f.offset;
            }
            rows.push_back(std::move(row));
        }
        return {{"rows", rows}};
    }

    json read(Fields& fields, std::string& failure) {
        const auto row = fields.count("row", found_.empty() ? 0 : found_.size() - 1);
        const auto begin = fields.count("begin", INT64_MAX), count = fields.count("count", INT64_MAX);
        if (fields.problem() || row >= found_.size() || !found_[row].reason.empty()) {
            fields.refuse("no such tensor");
            return {};
        }
        const Found& tensor = found_[row];
        visiting(tensor.path);
        if (!openDataset(row)) {
            failure = lastFault;
            return {};
        }
        const std::size_t size = H5Tget_size(type_.get());
        const auto elements = size ? tensor.bytes / size : 0;
        if (size == 0 || begin > elements || count > elements - begin || count > windowBytes_ / size) {
            fields.refuse("a range outside of the tensor or the window");
            return {};
        }
        if (!readRange(dataset_.get(), type_.get(), tensor.shape, begin, count, window_ + kHdf5PathBytes)) {
            failure = lastFault;
            return {};
        }
        return {{"bytes", count * size}};
    }

    bool openDataset(std::uint64_t row) {
        if (dataset_ && openRow_ == row) return true;
        const ListHandle access(H5Pcreate(H5P_DATASET_ACCESS));
        if (const auto cache = found_[row].chunkCache)
            H5Pset_chunk_cache(access.get(), 12'289, cache + (1u << 20), 1.0);
        type_ = TypeHandle();
        dataset_ = DatasetHandle(); // frees the cache of the old dataset before the new one gets its own
        // Opens by path, because HDF5 takes no cache settings when it opens by address. The check of the address below
        // shows that the path still leads to the object that the walk has found.
        dataset_ = DatasetHandle(H5Dopen2(file_.get(), found_[row].path.c_str(), access.get()));
        H5O_info_t info;
        if (!dataset_ || H5Oget_info(dataset_.get(), &info) < 0 || info.addr != found_[row].address) {
            dataset_ = DatasetHandle();
            return false;
        }
        type_ = memoryType(dataset_.get());
        openRow_ = row;
        return bool(type_);
    }

    /// Takes the values of the parts from the window, makes the file, and puts the bytes of the file into the window.
    json write(Fields& fields, std::string& failure) {
        std::vector<Part> parts;
        for (const auto& item : fields.array("parts", 100'000)) {
            Fields one(item);
            Part part{one.text("path", kHdf5PathBytes), one.flag("text"), {}, {}};
            for (const auto& dim : one.array("shape", 2)) part.shape.push_back(dim.get<std::uint64_t>());
            const auto at = one.count("at", windowBytes_), bytes = one.count("bytes", windowBytes_ - at);
            fields.take(one);
            if (fields.problem()) return {};
            part.values = {window_ + kHdf5PathBytes + at, bytes};
            parts.push_back(std::move(part));
        }
        std::map<std::string, std::string> attributes;
        const json& given = fields.object("attributes");
        for (const auto& [name, text] : given.items()) attributes[name] = text.get<std::string>();
        const auto image = makeImage(parts, attributes);
        if (image.empty()) failure = lastFault;
        if (image.size() > windowBytes_) failure = "the window is too small";
        if (!failure.empty()) return {};
        std::memcpy(window_ + kHdf5PathBytes, image.data(), image.size());
        return {{"bytes", image.size()}};
    }

    /// The window holds the request as JSON text. Afterwards it holds the offset of each dataset, then all bytes of the
    /// file that are not elements.
    json plan(Fields& fields, std::string& failure) {
        const auto bytes = fields.count("bytes", windowBytes_);
        const auto question = strictObject(std::string(reinterpret_cast<const char*>(window_ + kHdf5PathBytes), bytes));
        if (!question) fields.refuse(question.error());
        if (fields.problem()) return {};
        Fields asked(*question);
        std::vector<PlannedSet> sets;
        for (const auto& item : asked.array("sets", 1'000'000)) {
            Fields one(item);
            PlannedSet set{one.text("path", kHdf5PathBytes), one.text("type", 16), {}, one.object("attributes")};
            for (const auto& dim : one.array("shape", 32)) set.shape.push_back(dim.get<std::uint64_t>());
            asked.take(one);
            sets.push_back(std::move(set));
        }
        const json& attributes = asked.object("attributes");
        fields.take(asked);
        if (fields.problem()) return {};
        FilePlan made;
        const auto table = sets.size() * sizeof(std::uint64_t);
        if (!planFile(sets, attributes, made))
            failure = lastFault;
        else if (table + made.between.size() > windowBytes_)
            failure = "the window is too small";
        if (!failure.empty()) return {};
        std::memcpy(window_ + kHdf5PathBytes, made.offsets.data(), table);
        std::memcpy(window_ + kHdf5PathBytes + table, made.between.data(), made.between.size());
        return {{"end", made.end}, {"between", made.between.size()}};
    }

    static json probe() {
        json tried = json::object();
        for (const auto& [what, error] : tryForbidden()) tried[what] = error;
        return {{"errno", tried}};
    }

    Channel control_;
    int descriptor_;
    unsigned char* window_;
    std::uint64_t windowBytes_; ///< size of the window without the path at its beginning
    FileHandle file_;
    std::vector<Found> found_;
    DatasetHandle dataset_;
    TypeHandle type_;
    std::uint64_t openRow_ = 0;
};

} // namespace

void readHdf5(Descriptor control, int file, int window) {
    struct stat status {};
    void* shared = MAP_FAILED;
    if (fstat(window, &status) == 0 && std::uint64_t(status.st_size) > kHdf5PathBytes)
        shared = mmap(nullptr, std::size_t(status.st_size), PROT_READ | PROT_WRITE, MAP_SHARED, window, 0);
    if (shared == MAP_FAILED) {
        std::fputs("quantscope-worker: the memory shared with the program cannot be mapped\n", stderr);
        _exit(2);
    }
    Reader reader(std::move(control), file, static_cast<unsigned char*>(shared),
                  std::uint64_t(status.st_size) - kHdf5PathBytes);
    H5dont_atexit();
    H5Eset_auto2(H5E_DEFAULT, keepFault, nullptr); // keeps errors; by default HDF5 prints them
    if (const auto problem = enterSandbox(); !problem.empty()) {
        std::fprintf(stderr, "quantscope-worker: the sandbox cannot be entered: %s\n", problem.c_str());
        _exit(kHdf5NoSandbox);
    }
    reader.serve();
}

} // namespace qs::worker
