#pragma once
// KvCache: storage of KV pages on a backend, one id for all layers of 16 positions. Owns address
// space for its whole budget; memory is committed when a page is first written and goes back to
// the system by slabs. Knows layers and bytes; does not know tokens or conversations.
//
// Layout: slabs of kSlabPages pages; in a slab, per layer kSlabPages key pages, then kSlabPages
// value pages. So one layer's keys lie in runs of kSlabPages pages, and a slab is one stretch of
// memory. All layers take the page size of the largest. A kernel finds page `slot` of a layer at
// base + slot * page_bytes; slot(id) leaves the room of the other layers between slabs.
// Layers may lie on several backends (banks): then everything is one slab, so that a slot is the
// same on all of them.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/base/result.h"
#include "engine/cache/page_pool.h"
#include "engine/model/config.h"
#include "kernels/backend.h"

namespace hearth {

class KvCache {
  public:
    static constexpr int kSlabPages = 32;  ///< 512 positions

    /// The next n_layers layers lie on `backend`.
    struct Bank {
        Backend* backend;
        int n_layers;
    };
    /// Room for n_pages; address space is taken by whole slabs. Errors: out_of_memory.
    static Result<std::unique_ptr<KvCache>> make(const ModelConfig& config, Backend& backend,
                                                 DType dtype, int n_pages, bool permuted = false);
    static Result<std::unique_ptr<KvCache>> make(const ModelConfig& config,
                                                 std::span<const Bank> banks, DType dtype,
                                                 int n_pages, bool permuted = false);
    ~KvCache();
    KvCache(const KvCache&) = delete;
    KvCache& operator=(const KvCache&) = delete;

    /// Bytes of one page, all layers, keys and values.
    static std::int64_t bytes_per_page(const ModelConfig& config, DType dtype);

    std::span<const KvLayer> layers() const { return layers_; }
    /// What SequenceSpan::pages wants for a page id.
    std::int32_t slot(std::int32_t page) const {
        return page / slab_pages_ * slots_per_slab_ + page % slab_pages_;
    }

    /// Appends zeroed pages until `pages` covers n_positions. False, with nothing changed, when
    /// not enough are free.
    bool reserve(std::vector<std::int32_t>& pages, int n_positions);
    /// Releases pages from index n_pages on.
    void cut(std::vector<std::int32_t>& pages, int n_pages);
    /// One more, one less reference to a page in use.
    void share(std::int32_t page) { pool_.share(page); }
    void release(std::int32_t page);

    /// All layers of one page.
    void copy_page(std::int32_t to, std::int32_t from);
    /// To and from page_bytes_all() bytes: per layer the keys, then the values.
    void read_page(std::int32_t page, std::uint8_t* to) const;
    void write_page(std::int32_t page, const std::uint8_t* from);
    /// Pages have the layout that `blank` takes them to have.
    bool can_blank() const;
    /// Zeroes what `read_page` gave for positions n_valid … 15 of the page.
    void blank(std::span<std::uint8_t> page, int n_valid) const;

    const PagePool& pool() const { return pool_; }
    /// Bytes of the pages in use.
    std::int64_t bytes_in_use() const { return pool_.n_in_use() * page_bytes_all_; }
    std::int64_t page_bytes_all() const { return page_bytes_all_; }

  private:
    struct Place {  ///< of a bank
        Backend* backend = nullptr;
        int first_layer = 0, n_layers = 0;
        std::uint8_t* memory = nullptr;
        std::int64_t bytes = 0;
    };
    /// Plane 2l: keys of layer l; 2l + 1: its values.
    struct Spot {
        Backend& backend;
        std::uint8_t* address;
    };
    KvCache(int n_pages, bool permuted);
    Spot spot(int plane, std::int32_t page) const;
    void prepare(std::int32_t page);
    void retire(std::int32_t page);

    PagePool pool_;
    std::vector<KvLayer> layers_;
    std::vector<Place> places_;
    std::int32_t slab_pages_ = kSlabPages;
    std::int64_t page_bytes_ = 0;      ///< keys of one layer
    std::int64_t page_bytes_all_ = 0;  ///< 2 * layers * page_bytes_
    std::int32_t slots_per_slab_ = 0;
    std::vector<bool> dirty_;           ///< by page: written since its slab was last discarded
    std::vector<std::int32_t> in_use_;  ///< by slab
};

}  // namespace hearth
