// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Carries out the requests of the program on the one backend of this process. One thread calls everything here;
// only cancel() may be called from another thread.

#include "core/bench/backend/local_backend.h"
#include "core/process/fields.h"
#include "core/process/frame.h"

namespace qs::worker {

class Calls {
public:
    using Answer = Outcome<nlohmann::json>;
    explicit Calls(std::string backend);

    /// Call this before each request. It clears an earlier cancel.
    void begin() { host_->stop = false; }
    /// Runs the request `name`. Returns nullopt if no request has this name.
    std::optional<Answer> answer(const std::string& name, Fields& fields, Frame& frame);
    void cancel();                            ///< may be called from any thread
    bool isClosed() const { return closed_; } ///< true after "close": the process sends that answer and exits

private:
    struct Call {
        const char* name;
        Answer (Calls::*run)(Fields& fields, Frame& frame);
        bool opened; ///< true if the request needs an open backend
    };
    static const Call kCalls[];

    Answer load(Fields& fields, Frame& frame);
    Answer probe(Fields& fields, Frame& frame);
    Answer open(Fields& fields, Frame& frame);
    Answer describe(Fields& fields, Frame& frame);
    Answer devices(Fields& fields, Frame& frame);
    Answer roof(Fields& fields, Frame& frame);
    Answer query(Fields& fields, Frame& frame);
    Answer prepare(Fields& fields, Frame& frame);
    Answer execute(Fields& fields, Frame& frame);
    Answer bench(Fields& fields, Frame& frame);
    Answer artifact(Fields& fields, Frame& frame);
    Answer destroy(Fields& fields, Frame& frame);
    Answer close(Fields& fields, Frame& frame);

    /// Maps the shared buffers that arrive with the frame, and unmaps those that the program no longer needs.
    void takeBuffers(Fields& fields, Frame& frame);
    std::vector<HostTensor> tensors(Fields& fields, const char* key);

    std::string backend_;
    std::shared_ptr<PluginHost> host_;
    Options options_;
    const qs_backend* table_ = nullptr;
    std::mutex mutex_; ///< guards opened_, because cancel() reads it from another thread
    std::unique_ptr<LocalBackend> opened_;
    std::map<std::uint64_t, std::shared_ptr<SharedBuffer>> buffers_;
    bool closed_ = false;
};

} // namespace qs::worker
