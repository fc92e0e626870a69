// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Owns an HDF5 identifier and closes it with the right function.

#include <hdf5.h>
#include <utility>

namespace qs::worker {

template<herr_t (*Close)(hid_t)> class Handle {
public:
    explicit Handle(hid_t id = -1) : id_(id) {}
    Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)) {}
    Handle& operator=(Handle&& other) noexcept {
        std::swap(id_, other.id_);
        return *this;
    }
    ~Handle() {
        if (id_ >= 0) Close(id_);
    }
    explicit operator bool() const { return id_ >= 0; }
    hid_t get() const { return id_; }

private:
    hid_t id_;
};

using FileHandle = Handle<H5Fclose>;
using ObjectHandle = Handle<H5Oclose>;
using DatasetHandle = Handle<H5Dclose>;
using TypeHandle = Handle<H5Tclose>;
using SpaceHandle = Handle<H5Sclose>;
using ListHandle = Handle<H5Pclose>;
using AttributeHandle = Handle<H5Aclose>;

} // namespace qs::worker
