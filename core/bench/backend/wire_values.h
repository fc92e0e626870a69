// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The values of core/bench/backend/backend.h as JSON for the wire, and back with every field checked.

#include "core/bench/backend/backend.h"
#include "core/process/fields.h"

namespace qs {

nlohmann::json wireOf(const Failure& failure);
nlohmann::json wireOf(const Options& options);
nlohmann::json wireOf(const ProbeResult& probe);
nlohmann::json wireOf(const std::vector<DeviceInfo>& devices);
nlohmann::json wireOf(const Problem& problem);
nlohmann::json wireOf(const Support& support);
nlohmann::json wireOf(const PreparedKernel& kernel);
nlohmann::json wireOf(const RunOptions& options);
nlohmann::json wireOf(const RunSamples& samples);

/// Of the states, only those that a worker may report.
Failure failureFrom(Fields& fields);
Options optionsFrom(Fields& fields, const char* key);
ProbeResult probeFrom(Fields& fields);
std::vector<DeviceInfo> devicesFrom(Fields& fields, const char* key);
Problem problemFrom(Fields& fields);
Support supportFrom(Fields& fields);
PreparedKernel kernelFrom(Fields& fields);
RunOptions runOptionsFrom(Fields& fields);
RunSamples samplesFrom(Fields& fields);

} // namespace qs
