#pragma once
// Owners of device memory, pinned host memory, streams and events. None throws: a refusal is an
// empty owner.

#include <cstddef>
#include <utility>

#include <cuda_runtime_api.h>

namespace hearth::cuda {

/// Memory of one kind; grows by replacing, so only between steps.
template <cudaError_t (*kAllocate)(void**, std::size_t), cudaError_t (*kFree)(void*)>
class Buffer {
  public:
    Buffer() = default;
    ~Buffer() { kFree(data_); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    /// At least `bytes`; contents are lost when it had to grow.
    cudaError_t reserve(std::size_t bytes) {
        if (bytes <= bytes_) return cudaSuccess;
        kFree(data_);
        data_ = nullptr;
        bytes_ = 0;
        const cudaError_t e = kAllocate(&data_, bytes);
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

using DeviceBuffer = Buffer<cudaMalloc, cudaFree>;
/// Page-locked host memory: what copies beside computing need.
using PinnedBuffer = Buffer<cudaMallocHost, cudaFreeHost>;

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
