#include "kernels/cuda/weight_store.h"

#include <algorithm>
#include <cstring>
#include <thread>

namespace hearth::cuda {
namespace {

/// One staging buffer; two of them alternate.
constexpr std::int64_t kStagingBytes = std::int64_t{16} << 20;
constexpr int kMostThreads = 8;

std::int64_t aligned(std::int64_t n) { return (n + 255) / 256 * 256; }

/// Calls f(i) for i in [0, n) on a few threads.
template <typename Call>
void in_parallel(std::int64_t n, Call call) {
    const auto cores = static_cast<std::int64_t>(std::thread::hardware_concurrency());
    const std::int64_t n_threads = std::clamp<std::int64_t>(std::min(cores, n), 1, kMostThreads);
    if (n_threads == 1) {
        for (std::int64_t i = 0; i < n; ++i) call(i);
        return;
    }
    std::vector<std::jthread> threads;
    for (std::int64_t t = 0; t < n_threads; ++t) {
        threads.emplace_back([=] {
            for (std::int64_t i = t; i < n; i += n_threads) call(i);
        });
    }
}

}  // namespace

std::int64_t WeightStore::bytes_of(std::span<const TensorView> weights) {
    std::unordered_map<Key, bool, Hash> seen;
    std::int64_t total = 0;
    for (const TensorView& w : weights) {
        if (w && seen.emplace(Key{w.data, w.rows}, true).second)
            total += aligned(plane_bytes(w).total());
    }
    return total;
}

void WeightStore::clear() {
    known_.clear();
    memory_.clear();
    bytes_ = 0;
}

std::string WeightStore::load(std::span<const TensorView> weights,
                              const CardBackend::Progress& progress) {
    clear();
    const std::int64_t total = bytes_of(weights);
    auto memory = std::make_unique<DeviceBuffer>();
    cudaError_t e = memory->reserve(static_cast<std::size_t>(total));
    if (e != cudaSuccess) {
        cudaGetLastError();
        return "the weights need " + std::to_string(total >> 20) +
               " MiB on the card, which are not free there";
    }
    auto* p = memory->as<std::uint8_t>();
    memory_.push_back(std::move(memory));
    bytes_ = total;
    stopped_ = false;
    std::int64_t at = 0, done = 0;
    for (const TensorView& w : weights) {
        if (!w || known_.contains({w.data, w.rows})) continue;
        e = upload(w, p + at, done, progress, total);
        if (e != cudaSuccess || stopped_) break;
        known_.emplace(Key{w.data, w.rows}, device_weight(w, p + at));
        at += aligned(plane_bytes(w).total());
    }
    if (e == cudaSuccess) e = cudaStreamSynchronize(stream_.get);
    if (e == cudaSuccess && !stopped_) return {};
    clear();
    if (stopped_) return "loading the weights onto the card was stopped";
    return std::string("copying the weights to the card failed: ") + cudaGetErrorString(e);
}

const DeviceWeight* WeightStore::find(const TensorView& w) {
    const auto it = known_.find({w.data, w.rows});
    if (it != known_.end()) return &it->second;
    auto memory = std::make_unique<DeviceBuffer>();
    const std::int64_t bytes = plane_bytes(w).total();
    if (memory->reserve(static_cast<std::size_t>(bytes)) != cudaSuccess) return nullptr;
    std::int64_t done = 0;
    cudaError_t e = upload(w, memory->as<void>(), done, {}, bytes);
    if (e == cudaSuccess) e = cudaStreamSynchronize(stream_.get);
    if (e != cudaSuccess) return nullptr;
    bytes_ += aligned(bytes);
    const DeviceWeight weight = device_weight(w, memory->as<void>());
    memory_.push_back(std::move(memory));
    return &known_.emplace(Key{w.data, w.rows}, weight).first->second;
}

cudaError_t WeightStore::upload(const TensorView& w, void* to, std::int64_t& done,
                                const CardBackend::Progress& progress, std::int64_t total) {
    const bool quantized = is_quantized(w.dtype);
    const PlaneBytes planes = plane_bytes(w);
    const std::int64_t units = quantized ? (w.rows + kTileRows - 1) / kTileRows : w.rows;
    const std::int64_t each = planes.total() / units + 1024;
    const std::int64_t step = std::max<std::int64_t>(1, kStagingBytes / each);
    for (std::int64_t first = 0; first < units; first += step) {
        const std::int64_t last = std::min(units, first + step);
        auto* p = static_cast<std::uint8_t*>(to);
        const cudaError_t e =
            quantized ? upload_tiles(w, p, first, last) : upload_rows(w, p, first, last);
        if (e != cudaSuccess) return e;
        if (progress && !progress(done + planes.total() * last / units, total)) {
            stopped_ = true;
            return cudaSuccess;
        }
    }
    done += planes.total();
    return cudaSuccess;
}

cudaError_t WeightStore::upload_tiles(const TensorView& w, std::uint8_t* to, std::int64_t first,
                                      std::int64_t last) {
    const PlaneBytes planes = plane_bytes(w);
    const std::int64_t tiles = (w.rows + kTileRows - 1) / kTileRows, n = last - first;
    const std::int64_t size[4] = {planes.base / tiles, planes.high / tiles, planes.scale / tiles,
                                  planes.extra / tiles};
    const std::int64_t offset[4] = {0, planes.offset_high(), planes.offset_scale(),
                                    planes.offset_extra()};
    std::int64_t at[4], bytes = 0;
    for (int i = 0; i < 4; ++i) {
        at[i] = bytes;
        bytes += aligned(n * size[i]);
    }
    const int s = next_staging_;
    next_staging_ = 1 - next_staging_;
    cudaError_t e = cudaEventSynchronize(copied_[s].get);
    if (e == cudaSuccess) e = staging_[s].reserve(static_cast<std::size_t>(bytes));
    if (e != cudaSuccess) return e;
    auto* p = staging_[s].as<std::uint8_t>();
    in_parallel(n, [&](std::int64_t i) {
        repack_tile(w, first + i,
                    {p + at[0] + i * size[0], p + at[1] + i * size[1], p + at[2] + i * size[2],
                     p + at[3] + i * size[3]});
    });
    for (int i = 0; i < 4 && e == cudaSuccess; ++i) {
        if (size[i] == 0) continue;
        e = cudaMemcpyAsync(to + offset[i] + first * size[i], p + at[i],
                            static_cast<std::size_t>(n * size[i]), cudaMemcpyHostToDevice,
                            stream_.get);
    }
    return e == cudaSuccess ? cudaEventRecord(copied_[s].get, stream_.get) : e;
}

cudaError_t WeightStore::upload_rows(const TensorView& w, std::uint8_t* to, std::int64_t first,
                                     std::int64_t last) {
    const std::int64_t row = row_bytes(w.dtype, w.cols);
    const std::int64_t padded = row_bytes(w.dtype, (w.cols + 7) / 8 * 8);
    const int s = next_staging_;
    next_staging_ = 1 - next_staging_;
    cudaError_t e = cudaEventSynchronize(copied_[s].get);
    if (e == cudaSuccess)
        e = staging_[s].reserve(static_cast<std::size_t>((last - first) * padded));
    if (e != cudaSuccess) return e;
    auto* p = staging_[s].as<std::uint8_t>();
    for (std::int64_t r = first; r < last; ++r) {
        std::uint8_t* out = p + (r - first) * padded;
        std::memcpy(out, static_cast<const std::uint8_t*>(w.data) + r * row,
                    static_cast<std::size_t>(row));
        std::memset(out + row, 0, static_cast<std::size_t>(padded - row));
    }
    e = cudaMemcpyAsync(to + first * padded, p, static_cast<std::size_t>((last - first) * padded),
                        cudaMemcpyHostToDevice, stream_.get);
    return e == cudaSuccess ? cudaEventRecord(copied_[s].get, stream_.get) : e;
}

}  // namespace hearth::cuda
