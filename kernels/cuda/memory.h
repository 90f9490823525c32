#pragma once
// Owners of device memory, pinned host memory, streams and events. None throws: a refusal is an
// empty owner.

#include <cstddef>
#include <utility>

#include <cuda_runtime_api.h>

namespace hearth::cuda {

/// Device memory; grows by replacing, so only between steps.
class DeviceBuffer {
  public:
    DeviceBuffer() = default;
    ~DeviceBuffer() { cudaFree(data_); }
    DeviceBuffer(const DeviceBuffer&) = delete;
    DeviceBuffer& operator=(const DeviceBuffer&) = delete;

    /// At least `bytes`; contents are lost when it had to grow.
    cudaError_t reserve(std::size_t bytes) {
        if (bytes <= bytes_) return cudaSuccess;
        cudaFree(data_);
        data_ = nullptr;
        bytes_ = 0;
        const cudaError_t e = cudaMalloc(&data_, bytes);
        if (e == cudaSuccess) bytes_ = bytes;
        return e;
    }
    std::size_t bytes() const { return bytes_; }
    template <typename T>
    T* as() const {
        return static_cast<T*>(data_);
    }

  private:
    void* data_ = nullptr;
    std::size_t bytes_ = 0;
};

/// Page-locked host memory: what copies beside computing need.
class PinnedBuffer {
  public:
    PinnedBuffer() = default;
    ~PinnedBuffer() { cudaFreeHost(data_); }
    PinnedBuffer(const PinnedBuffer&) = delete;
    PinnedBuffer& operator=(const PinnedBuffer&) = delete;

    cudaError_t reserve(std::size_t bytes) {
        if (bytes <= bytes_) return cudaSuccess;
        cudaFreeHost(data_);
        data_ = nullptr;
        bytes_ = 0;
        const cudaError_t e = cudaMallocHost(&data_, bytes);
        if (e == cudaSuccess) bytes_ = bytes;
        return e;
    }
    std::size_t bytes() const { return bytes_; }
    template <typename T>
    T* as() const {
        return static_cast<T*>(data_);
    }

  private:
    void* data_ = nullptr;
    std::size_t bytes_ = 0;
};

struct Stream {
    Stream() { cudaStreamCreateWithFlags(&get, cudaStreamNonBlocking); }
    ~Stream() { cudaStreamDestroy(get); }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    cudaStream_t get = nullptr;
};

struct Event {
    Event() { cudaEventCreateWithFlags(&get, cudaEventDisableTiming); }
    ~Event() { cudaEventDestroy(get); }
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
    cudaEvent_t get = nullptr;
};

}  // namespace hearth::cuda
