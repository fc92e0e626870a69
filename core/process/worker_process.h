// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A quantscope-worker: started in a process group of its own, its output read, and ended with all it has started.

#include "core/base/result.h"
#include "core/process/wire.h"

#include <memory>
#include <string>
#include <sys/types.h>
#include <vector>

struct pollfd;

namespace qs {

/// QS_WORKER, or quantscope-worker beside the running program.
std::string workerProgram();

class WorkerProcess {
public:
    /// `backend`: what --backend takes. The other end of `control` is the worker's descriptor 3. Of the environment it
    /// gets what vendor libraries read.
    static Result<std::unique_ptr<WorkerProcess>> start(const std::string& backend);
    /// A worker that reads one file of HDF5: without an environment; `file` and `window` become descriptors 4 and 5.
    static Result<std::unique_ptr<WorkerProcess>> startReader(int file, int window);
    ~WorkerProcess() { end(); }
    WorkerProcess(const WorkerProcess&) = delete;
    WorkerProcess& operator=(const WorkerProcess&) = delete;

    Channel& control() { return control_; }
    /// Sleeps until something has arrived, at most `milliseconds`; takes what was printed meanwhile.
    void wait(int milliseconds);
    /// Kills the process group and what a plugin has started elsewhere, and waits for the worker. Says how the worker itself had ended by then, after `grace` seconds:
    /// "SIGSEGV", "exited with code 0", or "" when it was alive. Repeatable.
    std::string end(double grace = 0);
    /// The worker has ended by itself. Its children may hold the socket open, so that no end of it is seen.
    bool dead() const;
    /// CPU time that the worker itself has used; 0 when it is gone.
    double cpuSeconds() const;
    /// The last lines of what it printed on both streams.
    const std::string& log() const { return log_; }
    /// The last line on stderr that is not blank, escaped.
    std::string lastErrorLine() const;

private:
    struct Stream {
        Descriptor pipe;
        std::string tail;
    };
    static Result<std::unique_ptr<WorkerProcess>> startWith(const std::vector<std::string>& arguments,
                                                            const std::vector<int>& more,
                                                            const std::vector<std::string>& environment);
    WorkerProcess(pid_t pid, Descriptor control, Descriptor out, Descriptor err);
    void drain(Stream& stream);
    pid_t pid_;
    Channel control_;
    Descriptor pidfd_; ///< wakes the poll when the worker ends; -1 where the kernel has none
    Stream out_, err_;
    std::string log_, ending_;
    std::string mark_; ///< of the processes that a plugin starts; "": none can be started
};

} // namespace qs
