#include "engine/cache/kv_cache.h"

#include <algorithm>
#include <cstring>

#include "engine/base/check.h"

namespace hearth {

namespace {

int round_to_slab(int n_pages) {
    return (n_pages + KvCache::kSlabPages - 1) / KvCache::kSlabPages * KvCache::kSlabPages;
}

std::int64_t layer_page_bytes(const ModelConfig& config, DType dtype) {
    std::int64_t largest = 0;
    for (const AttentionSpec& a : config.attention) {
        largest = std::max(largest,
                           row_bytes(dtype, std::int64_t{a.n_kv_heads} * a.head_dim * kPageTokens));
    }
    return largest;
}

}  // namespace

std::int64_t KvCache::bytes_per_page(const ModelConfig& config, DType dtype) {
    return 2 * static_cast<std::int64_t>(config.attention.size()) * layer_page_bytes(config, dtype);
}

KvCache::KvCache(Backend& backend, int n_pages, bool permuted)
    : backend_(backend),
      pool_(n_pages, permuted) {}

Result<std::unique_ptr<KvCache>> KvCache::make(const ModelConfig& config, Backend& backend,
                                               DType dtype, int n_pages, bool permuted) {
    const int n = round_to_slab(std::max(n_pages, 1));
    std::unique_ptr<KvCache> c(new KvCache(backend, std::max(n_pages, 1), permuted));
    c->page_bytes_ = layer_page_bytes(config, dtype);
    c->page_bytes_all_ = bytes_per_page(config, dtype);
    c->memory_bytes_ = c->page_bytes_all_ * n;
    c->slots_per_slab_ = static_cast<std::int32_t>(2 * config.attention.size()) * kSlabPages;
    c->memory_ =
        static_cast<std::uint8_t*>(backend.allocate(static_cast<std::size_t>(c->memory_bytes_)));
    if (c->memory_ == nullptr) {
        return fail(Errc::out_of_memory,
                    "the KV cache of {} tokens needs {} MiB, which the system refused; choose a "
                    "smaller context or close other programs",
                    std::int64_t{n} * kPageTokens, c->memory_bytes_ >> 20);
    }
    c->dirty_.assign(static_cast<std::size_t>(n), false);
    c->in_use_.assign(static_cast<std::size_t>(n / kSlabPages), 0);
    std::uint8_t* p = c->memory_;
    for (const AttentionSpec& a : config.attention) {
        const std::int64_t run = kSlabPages * c->page_bytes_;
        c->layers_.push_back({p, p + run, c->page_bytes_, dtype, a.n_kv_heads, a.head_dim});
        p += 2 * run;
    }
    return c;
}

KvCache::~KvCache() {
    if (memory_ != nullptr) backend_.release(memory_, static_cast<std::size_t>(memory_bytes_));
}

/// Plane 2l: keys of layer l; 2l + 1: its values.
std::uint8_t* KvCache::page_address(int plane, std::int32_t page) const {
    return memory_ + (std::int64_t{slot(page)} + std::int64_t{plane} * kSlabPages) * page_bytes_;
}

void KvCache::prepare(std::int32_t page) {
    ++in_use_[static_cast<std::size_t>(page / kSlabPages)];
    if (dirty_[static_cast<std::size_t>(page)]) {
        for (int plane = 0; plane < static_cast<int>(2 * layers_.size()); ++plane) {
            backend_.discard(page_address(plane, page), static_cast<std::size_t>(page_bytes_));
        }
    }
    dirty_[static_cast<std::size_t>(page)] = true;
}

void KvCache::retire(std::int32_t page) {
    const std::int32_t slab = page / kSlabPages;
    std::int32_t& n = in_use_[static_cast<std::size_t>(slab)];
    HEARTH_CHECK(n > 0);
    if (--n > 0) return;
    const std::int64_t bytes = kSlabPages * page_bytes_all_;
    backend_.discard(memory_ + slab * bytes, static_cast<std::size_t>(bytes));
    const auto first = dirty_.begin() + slab * kSlabPages;
    std::fill(first, first + kSlabPages, false);
}

bool KvCache::reserve(std::vector<std::int32_t>& pages, int n_positions) {
    const int needed = (n_positions + kPageTokens - 1) / kPageTokens;
    const int missing = needed - static_cast<int>(pages.size());
    if (missing > pool_.n_free()) return false;
    for (int i = 0; i < missing; ++i) {
        const std::int32_t page = pool_.allocate();
        prepare(page);
        pages.push_back(page);
    }
    return true;
}

void KvCache::cut(std::vector<std::int32_t>& pages, int n_pages) {
    HEARTH_CHECK(n_pages >= 0);
    while (static_cast<int>(pages.size()) > n_pages) {
        release(pages.back());
        pages.pop_back();
    }
}

void KvCache::release(std::int32_t page) {
    if (pool_.release(page)) retire(page);
}

void KvCache::copy_page(std::int32_t to, std::int32_t from) {
    for (int plane = 0; plane < static_cast<int>(2 * layers_.size()); ++plane) {
        backend_.copy(page_address(plane, to), page_address(plane, from),
                      static_cast<std::size_t>(page_bytes_));
    }
}

void KvCache::read_page(std::int32_t page, std::uint8_t* to) const {
    for (int plane = 0; plane < static_cast<int>(2 * layers_.size()); ++plane) {
        backend_.copy(to + plane * page_bytes_, page_address(plane, page),
                      static_cast<std::size_t>(page_bytes_));
    }
}

void KvCache::write_page(std::int32_t page, const std::uint8_t* from) {
    for (int plane = 0; plane < static_cast<int>(2 * layers_.size()); ++plane) {
        backend_.copy(page_address(plane, page), from + plane * page_bytes_,
                      static_cast<std::size_t>(page_bytes_));
    }
}

void KvCache::blank(std::span<std::uint8_t> page, int n_valid) const {
    HEARTH_CHECK(page.size() == static_cast<std::size_t>(page_bytes_all_));
    HEARTH_CHECK(can_blank() && n_valid > 0 && n_valid <= kPageTokens);
    const auto n = static_cast<std::size_t>(n_valid);
    const auto page_bytes = static_cast<std::size_t>(page_bytes_);
    std::uint8_t* keys = page.data();
    for (const KvLayer& layer : layers_) {
        const auto element = static_cast<std::size_t>(row_bytes(layer.dtype, 1));
        const auto d = static_cast<std::size_t>(layer.head_dim);
        std::uint8_t* values = keys + page_bytes;
        for (std::size_t g = 0; g < static_cast<std::size_t>(layer.n_kv_heads); ++g) {
            for (std::size_t i = 0; i < d; ++i) {  // [G][d][16 keys]
                std::uint8_t* row = keys + (g * d + i) * kPageTokens * element;
                std::memset(row + n * element, 0, (kPageTokens - n) * element);
            }
            std::uint8_t* row = values + g * kPageTokens * d * element;  // [G][16][d]
            std::memset(row + n * d * element, 0, (kPageTokens - n) * d * element);
        }
        keys = values + page_bytes;
    }
}

}  // namespace hearth
