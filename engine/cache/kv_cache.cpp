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

KvCache::KvCache(int n_pages, bool permuted) : pool_(n_pages, permuted) {}

Result<std::unique_ptr<KvCache>> KvCache::make(const ModelConfig& config, Backend& backend,
                                               DType dtype, int n_pages, bool permuted) {
    const Bank bank{&backend, static_cast<int>(config.attention.size())};
    return make(config, {&bank, 1}, dtype, n_pages, permuted);
}

Result<std::unique_ptr<KvCache>> KvCache::make(const ModelConfig& config,
                                               std::span<const Bank> banks, DType dtype,
                                               int n_pages, bool permuted) {
    const int n = round_to_slab(std::max(n_pages, 1));
    std::unique_ptr<KvCache> c(new KvCache(std::max(n_pages, 1), permuted));
    c->page_bytes_ = layer_page_bytes(config, dtype);
    c->page_bytes_all_ = bytes_per_page(config, dtype);
    c->slab_pages_ = banks.size() == 1 ? kSlabPages : n;
    c->slots_per_slab_ = static_cast<std::int32_t>(2 * config.attention.size()) * c->slab_pages_;
    c->dirty_.assign(static_cast<std::size_t>(n), false);
    c->in_use_.assign(static_cast<std::size_t>(n / c->slab_pages_), 0);
    int layer = 0;
    for (const Bank& bank : banks) {
        Place place{bank.backend, layer, bank.n_layers, nullptr,
                    2 * c->page_bytes_ * bank.n_layers * n};
        place.memory = static_cast<std::uint8_t*>(
            bank.backend->allocate(static_cast<std::size_t>(place.bytes)));
        if (place.memory == nullptr) {
            return fail(Errc::out_of_memory,
                        "the KV cache of {} tokens needs {} MiB, which the system refused; choose "
                        "a smaller context or close other programs",
                        std::int64_t{n} * kPageTokens, place.bytes >> 20);
        }
        c->places_.push_back(place);
        std::uint8_t* p = place.memory;
        const std::int64_t run = c->slab_pages_ * c->page_bytes_;
        for (int i = 0; i < bank.n_layers; ++i, ++layer) {
            const AttentionSpec& a = config.attention[static_cast<std::size_t>(layer)];
            c->layers_.push_back({p, p + run, c->page_bytes_, dtype, a.n_kv_heads, a.head_dim});
            p += 2 * run;
        }
    }
    HEARTH_CHECK(c->layers_.size() == config.attention.size());
    return c;
}

KvCache::~KvCache() {
    for (const Place& p : places_) p.backend->release(p.memory, static_cast<std::size_t>(p.bytes));
}

bool KvCache::can_blank() const {
    return std::all_of(places_.begin(), places_.end(),
                       [](const Place& p) { return p.backend->info().name == "cpu"; });
}

KvCache::Spot KvCache::spot(int plane, std::int32_t page) const {
    const Place* place = places_.data();
    while (plane / 2 >= place->first_layer + place->n_layers) ++place;
    const std::int64_t own = plane - 2 * place->first_layer;
    return {*place->backend,
            place->memory + (std::int64_t{slot(page)} + own * slab_pages_) * page_bytes_};
}

void KvCache::prepare(std::int32_t page) {
    ++in_use_[static_cast<std::size_t>(page / slab_pages_)];
    if (dirty_[static_cast<std::size_t>(page)]) {
        for (int plane = 0; plane < static_cast<int>(2 * layers_.size()); ++plane) {
            const Spot s = spot(plane, page);
            s.backend.discard(s.address, static_cast<std::size_t>(page_bytes_));
        }
    }
    dirty_[static_cast<std::size_t>(page)] = true;
}

void KvCache::retire(std::int32_t page) {
    const std::int32_t slab = page / slab_pages_;
    std::int32_t& n = in_use_[static_cast<std::size_t>(slab)];
    HEARTH_CHECK(n > 0);
    if (--n > 0) return;
    for (const Place& p : places_) {
        const std::int64_t bytes = p.bytes / static_cast<std::int64_t>(in_use_.size());
        p.backend->discard(p.memory + slab * bytes, static_cast<std::size_t>(bytes));
    }
    const auto first = dirty_.begin() + slab * slab_pages_;
    std::fill(first, first + slab_pages_, false);
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
        const Spot s = spot(plane, to);
        s.backend.copy(s.address, spot(plane, from).address, static_cast<std::size_t>(page_bytes_));
    }
}

void KvCache::read_page(std::int32_t page, std::uint8_t* to) const {
    for (int plane = 0; plane < static_cast<int>(2 * layers_.size()); ++plane) {
        const Spot s = spot(plane, page);
        s.backend.copy(to + plane * page_bytes_, s.address, static_cast<std::size_t>(page_bytes_));
    }
}

void KvCache::write_page(std::int32_t page, const std::uint8_t* from) {
    for (int plane = 0; plane < static_cast<int>(2 * layers_.size()); ++plane) {
        const Spot s = spot(plane, page);
        s.backend.copy(s.address, from + plane * page_bytes_,
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
