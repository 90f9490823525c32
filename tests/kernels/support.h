#pragma once
// Shared parts of the kernel tests: random weights of every format, memory with guard pages, and
// a run of one op on a backend.

#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <sys/mman.h>

#include "kernels/backend.h"
#include "kernels/quant.h"

namespace hearth::test {

using Rng = std::mt19937;

inline std::vector<DType> all_formats() {
    std::vector<DType> result;
    for (int i = 0; i < kNumDTypes; ++i) result.push_back(static_cast<DType>(i));
    return result;
}

/// Uniform in [-1, 1), a multiple of 2^-12.
inline float uniform(Rng& rng) {
    return static_cast<float>(static_cast<int>(rng() % 8192) - 4096) / 4096.0f;
}

inline void put_u16(std::uint8_t* p, std::uint16_t v) { std::memcpy(p, &v, 2); }

/// Random bytes; scales random of ordinary size, either sign.
inline void fill_block(DType t, std::uint8_t* b, Rng& rng) {
    const int bytes = dtype_info(t).block_bytes;
    for (int i = 0; i < bytes; ++i) b[i] = static_cast<std::uint8_t>(rng());
    const auto half = [&](int at) { put_u16(b + at, float_to_half(uniform(rng) * 0.05f)); };
    switch (t) {
        case DType::f32: {
            const float f = uniform(rng);
            std::memcpy(b, &f, 4);
            return;
        }
        case DType::f16:
            return half(0);
        case DType::bf16:
            return put_u16(b, float_to_bf16(uniform(rng)));
        case DType::q4_1:
        case DType::q5_1:
        case DType::q4_k:
        case DType::q5_k:
            half(0);
            return half(2);
        case DType::q2_k:
            half(80);
            return half(82);
        case DType::q3_k:
            return half(108);
        case DType::q6_k:
            return half(208);
        case DType::mxfp4:
            b[0] = static_cast<std::uint8_t>(118 + rng() % 12);
            return;
        default:
            return half(0);
    }
}

inline std::vector<std::uint8_t> random_weights(DType t, std::int64_t rows, std::int64_t cols,
                                                Rng& rng) {
    std::vector<std::uint8_t> w(static_cast<std::size_t>(rows * row_bytes(t, cols)));
    for (std::size_t i = 0; i < w.size(); i += static_cast<std::size_t>(dtype_info(t).block_bytes))
        fill_block(t, w.data() + i, rng);
    return w;
}

inline std::vector<float> random_floats(std::size_t n, Rng& rng, float scale = 1.0f) {
    std::vector<float> v(n);
    for (float& f : v) f = uniform(rng) * scale;
    return v;
}

/// Memory that ends at an unreadable page and starts behind another one (`at_end`: the data
/// touches the last, else the first).
class Guarded {
  public:
    Guarded(std::size_t bytes, bool at_end) {
        const std::size_t page = 4096, inner = (bytes + page - 1) / page * page;
        size_ = inner + 2 * page;
        base_ = static_cast<std::uint8_t*>(
            mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        mprotect(base_, page, PROT_NONE);
        mprotect(base_ + page + inner, page, PROT_NONE);
        data_ = base_ + page + (at_end ? inner - bytes : 0);
    }
    Guarded(const void* from, std::size_t bytes, bool at_end) : Guarded(bytes, at_end) {
        std::memcpy(data_, from, bytes);
    }
    ~Guarded() { munmap(base_, size_); }
    Guarded(const Guarded&) = delete;
    Guarded& operator=(const Guarded&) = delete;
    template <typename T>
    T* as() const {
        return reinterpret_cast<T*>(data_);
    }

  private:
    std::uint8_t* base_ = nullptr;
    std::uint8_t* data_ = nullptr;
    std::size_t size_ = 0;
};

inline bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

inline std::unique_ptr<Backend> backend(CpuIsa isa, int n_threads) {
    CpuOptions o;
    o.isa = isa;
    o.n_threads = n_threads;
    return make_cpu_backend(o);
}

/// Every rung of this machine with 1 thread, the widest also with 2 and 3.
inline std::vector<std::unique_ptr<Backend>> all_backends() {
    std::vector<std::unique_ptr<Backend>> result;
    for (const CpuIsa isa : supported_cpu_isas()) result.push_back(backend(isa, 1));
    result.push_back(backend(supported_cpu_isas().back(), 2));
    result.push_back(backend(supported_cpu_isas().back(), 3));
    return result;
}

inline std::string name_of(const Backend& b) { return b.info().detail; }

/// A dense matrix with n rows in a vector.
inline MatrixView view(std::vector<float>& v, std::int64_t rows) {
    const std::int64_t cols = rows == 0 ? 0 : static_cast<std::int64_t>(v.size()) / rows;
    return {v.data(), rows, cols, cols};
}

/// y (n, M) = x (n, K) w^T on one backend.
inline std::vector<float> run_matmul(Backend& b, const TensorView& w, std::vector<float> x,
                                     std::int64_t n) {
    std::vector<float> y(static_cast<std::size_t>(n * w.rows), -7.0f);
    b.begin({});
    b.matmul(view(y, n), view(x, n), w);
    b.run();
    return y;
}

}  // namespace hearth::test
