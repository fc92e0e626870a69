// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Starts and ends a process of the program quantscope-worker. It has a process group of its own. What it prints is kept
// as a log. When it is ended, all processes that it has started are ended too.

#include "core/base/result.h"
#include "core/process/frame.h"

#include <memory>
#include <string>
#include <sys/types.h>
#include <vector>

namespace qs {

/// Path of the worker program: the variable QS_WORKER, else quantscope-worker in the folder of the running program. ""
/// if that folder is not known.
std::string workerProgram();

/// How a worker is started.
struct WorkerStart {
    std::vector<std::string> arguments;     ///< start() appends "--cfg 3": 3 is the descriptor of the control socket
    std::vector<int> descriptors{};         ///< become its descriptors 4, 5, ...; its standard input is empty
    std::vector<std::string> environment{}; ///< its whole environment, as "NAME=value"
    bool startsOthers = false; ///< true: it may start processes, which then carry a mark and are ended with it
};

/// How a worker ended by itself.
struct Ending {
    std::string text;    ///< "SIGSEGV" or "exited with code 0"; "" if it was alive
    bool exited = false; ///< true: it exited by itself; false: a signal ended it
    int code = 0;        ///< exit code, or number of the signal
};

class WorkerProcess {
public:
    static Result<std::unique_ptr<WorkerProcess>> start(WorkerStart how);
    ~WorkerProcess() { end(); }
    WorkerProcess(const WorkerProcess&) = delete;
    WorkerProcess& operator=(const WorkerProcess&) = delete;

    Channel& control() { return control_; }
    /// Sleeps until a frame or output arrives or the worker ends, at most `milliseconds`. Adds the output to the log.
    void wait(int milliseconds);
    /// Waits up to `grace` seconds for the worker to end by itself. Then kills its process group and all marked
    /// processes. Returns how the worker had ended before that. A second call returns the same.
    Ending end(double grace = 0);
    /// True if the worker has ended by itself. The socket does not show this: child processes may hold it open.
    bool dead() const;
    /// CPU time that the worker itself has used, in seconds; 0 if it has ended.
    double cpuSeconds() const;
    /// True if the worker waits in the kernel for a disk or a network share, where no signal can interrupt it.
    bool waitsForDisk() const;
    /// The end of what it printed on standard output and standard error, in order of arrival.
    const std::string& log() const { return log_; }
    /// The last line on standard error that is not blank. Control characters are escaped.
    std::string lastErrorLine() const;

private:
    struct Stream {
        Descriptor pipe;
        std::string tail;
    };
    WorkerProcess(pid_t pid, Descriptor control, Descriptor out, Descriptor err);
    void drain(Stream& stream);
    pid_t pid_;
    Channel control_;
    Descriptor pidfd_; ///< wakes poll() when the worker ends; -1 if the kernel does not have pidfd_open
    Stream out_, err_;
    std::string log_;
    Ending ending_;
    std::string mark_; ///< the mark of the processes that it starts; "" if it may start none
};

} // namespace qs
