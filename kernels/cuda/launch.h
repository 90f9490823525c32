#pragma once
// Launch without <<<>>>, so that one spelling serves both compilers. Included by simt.h.

#include <cstddef>
#if !defined(__CUDACC__)
#include <functional>
#include <type_traits>
#endif

namespace simt {

struct LaunchCfg {
    dim3 grid;
    dim3 block;
    std::size_t smem = 0;
    cudaStream_t stream = nullptr;
};

#if defined(__CUDACC__)
template <class... P, class... A>
cudaError_t launch(void (*kernel)(P...), const LaunchCfg& c, A&&... args) {
    kernel<<<c.grid, c.block, c.smem, c.stream>>>(static_cast<P>(args)...);
    return cudaGetLastError();
}
#else
cudaError_t enqueue_launch(const void* fn, const LaunchCfg& c, std::function<void()> body);
bool device_visible(const void* p);
cudaError_t reject_host_pointer(int index, const void* p);

template <class... P, class... A>
cudaError_t launch(void (*kernel)(P...), const LaunchCfg& c, A&&... args) {
    int i = 0, bad = -1;
    const void* bad_p = nullptr;
    auto check = [&](const auto& v) {
        if constexpr (std::is_pointer_v<std::decay_t<decltype(v)>>) {
            const auto* p = static_cast<const void*>(v);
            if (p != nullptr && !device_visible(p) && bad < 0) bad = i, bad_p = p;
        }
        ++i;
    };
    (check(args), ...);
    if (bad >= 0) return reject_host_pointer(bad, bad_p);
    return enqueue_launch(reinterpret_cast<const void*>(kernel), c,
                          [kernel, ... a = static_cast<P>(args)] { kernel(a...); });
}
#endif

/// Lets a kernel take more than 48 KiB of dynamic shared memory.
template <class... P>
cudaError_t allow_smem(void (*kernel)(P...), std::size_t bytes) {
    return cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                                cudaFuncAttributeMaxDynamicSharedMemorySize,
                                static_cast<int>(bytes));
}

}  // namespace simt
