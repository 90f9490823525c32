// attention: y[t,h] = sum_j softmax_j(scale q[t,h] . k[j,g]) v[j,g],  g = h / (H / G), causal,
//            windowed, over pages
//
// source    Milakov & Gimelshein 2018; Dao et al. 2022; split over keys: Dao et al. 2023
// shapes    q, y (T, H*d)   pages of 16 keys: K [G][d][16], V [G][16][d]
// traffic   decode: 2 * keys * G * d * 2 bytes per layer; 4 * keys * H * d flops
// bound     memory when decoding long contexts, f32 multiply-add in prefill
// mapping   an item is (sequence, kv head, block of query tokens): the query heads of the kv head
//           share every loaded key. Keys are cut in tiles of 64 within partitions of 512, at
//           absolute positions; with few items a partition is an item and a second op merges
// oracle    tests/reference/ops.h: attention
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/check.h"
#include "kernels/cpu/program.h"

namespace hearth::cpu {
namespace {

constexpr int kTileKeys = 64;
constexpr int kPartitionKeys = 512;
constexpr int kMaxRows = 48;  ///< (token, query head) rows of an item
constexpr int kMaxDim = 256;
constexpr float kNone = -std::numeric_limits<float>::infinity();

/// Running softmax state of up to kMaxRows rows.
struct State {
    alignas(64) float o[kMaxRows][kMaxDim];
    alignas(64) float lanes[kMaxRows][16];
    float m[kMaxRows];
    float l[kMaxRows];
};

struct Work {
    alignas(64) float q[kMaxRows][kMaxDim];
    alignas(64) float k[kTileKeys * kMaxDim];
    alignas(64) float v[kTileKeys * kMaxDim];
    alignas(64) float s[kMaxRows][kTileKeys];
    State part, total;
};

/// Rows of one item: tokens [token0, token0 + n_tokens) of a sequence, all query heads of g.
struct Item {
    const SequenceSpan* sequence;
    int g;
    int token0;  ///< within the sequence
    int n_tokens;
    int n_rows;  ///< n_tokens * per_kv; row r is token r / per_kv, head r % per_kv
    int lo, hi;  ///< keys visible to some row
};

int first_key(const AttentionShape& s, int position) {
    return s.window > 0 ? std::max(0, position - s.window + 1) : 0;
}

Item make_item(const Op& op, const SequenceSpan& sequence, int g, int block) {
    Item it{};
    it.sequence = &sequence;
    it.g = g;
    it.token0 = block * op.block_tokens;
    it.n_tokens = std::min(op.block_tokens, sequence.n_rows - it.token0);
    it.n_rows = it.n_tokens * op.shape.per_kv();
    const int position = sequence.first_position + it.token0;
    it.lo = first_key(op.shape, position);
    it.hi = position + it.n_tokens;
    return it;
}

/// q * scale, rows packed with stride head_dim.
void load_queries(const Op& op, const Item& it, Work& w) {
    const int d = op.shape.head_dim, per = op.shape.per_kv();
    for (int r = 0; r < it.n_rows; ++r) {
        const std::int64_t t = it.sequence->first_row + it.token0 + r / per;
        const float* q =
            op.x.data + t * op.x.stride + static_cast<std::int64_t>(it.g * per + r % per) * d;
        float* to = &w.q[0][0] + static_cast<std::int64_t>(r) * d;
        for (int i = 0; i < d; ++i) to[i] = q[i] * op.shape.scale;
    }
}

/// Where tile `tile` of the item lies; pages without a visible key are replaced by one that has.
void find_pages(const Op& op, const Item& it, int tile, const std::uint8_t** keys,
                const std::uint8_t** values) {
    const std::int64_t offset =
        it.g * std::int64_t{op.shape.head_dim} * row_bytes(op.kv.dtype, kPageTokens);
    for (int p = 0; p < kTileKeys / kPageTokens; ++p) {
        const int page = std::clamp((tile * kTileKeys) / kPageTokens + p, it.lo / kPageTokens,
                                    (it.hi - 1) / kPageTokens);
        const std::int64_t at = it.sequence->pages[page] * op.kv.page_bytes + offset;
        keys[p] = static_cast<const std::uint8_t*>(op.kv.keys) + at;
        values[p] = static_cast<const std::uint8_t*>(op.kv.values) + at;
    }
}

/// The tile as f32.
void load_tile(const Op& op, const Context& c, const TilePages& pages, Work& w) {
    const std::int64_t n = std::int64_t{op.shape.head_dim} * kPageTokens;
    for (int p = 0; p < kTileKeys / kPageTokens; ++p) {
        c.kernels.load_kv(pages.keys[p], pages.next_keys[p], w.k + p * n, n, op.kv.dtype);
        c.kernels.load_kv(pages.values[p], pages.next_values[p], w.v + p * n, n, op.kv.dtype);
    }
}

void reset(State& s, int n_rows, int head_dim) {
    std::memset(s.o, 0, sizeof(float) * static_cast<std::size_t>(n_rows * head_dim));
    std::memset(s.lanes, 0, sizeof(float) * 16 * static_cast<std::size_t>(n_rows));
    std::fill_n(s.m, n_rows, kNone);
}

/// Rows for which a tile is read from its pages: more are worth a tile as f32.
constexpr int kFewRows = 12;

bool reads_pages(const Op& op, const Item& it) {
    return it.n_rows <= kFewRows && op.kv.dtype != DType::f32;
}

/// Softmax of a tile's scores; factor[r] rescales what row r has accumulated.
void softmax_tile(const Op& op, const Context& c, const Item& it, int first, Work& w,
                  float* factor) {
    const int per = op.shape.per_kv();
    int lo[kMaxRows], hi[kMaxRows];
    for (int r = 0; r < it.n_rows; ++r) {
        const int position = it.sequence->first_position + it.token0 + r / per;
        lo[r] = std::clamp(first_key(op.shape, position) - first, 0, kTileKeys);
        hi[r] = std::clamp(position + 1 - first, 0, kTileKeys);
    }
    c.kernels.tile_softmax(w.s[0], it.n_rows, lo, hi, op.shape.softcap, w.part.m, w.part.lanes[0],
                           factor);
}

/// One partition for all rows of the item, into w.part.
void run_partition(const Op& op, const Context& c, const Item& it, int partition, Work& w) {
    const int d = op.shape.head_dim;
    reset(w.part, it.n_rows, d);
    const int lo = std::max(it.lo, partition * kPartitionKeys);
    const int hi = std::min(it.hi, (partition + 1) * kPartitionKeys);
    const bool few = reads_pages(op, it);
    TilePages pages{};
    pages.dtype = op.kv.dtype;
    for (int tile = lo / kTileKeys; tile * kTileKeys < hi; ++tile) {
        const int first = tile * kTileKeys;
        const int begin = std::max(lo - first, 0), end = std::min(hi - first, kTileKeys);
        float factor[kMaxRows];
        find_pages(op, it, tile, pages.keys, pages.values);
        find_pages(op, it, tile + 1, pages.next_keys, pages.next_values);
        if (few) {
            c.kernels.page_scores(&w.q[0][0], d, it.n_rows, pages, d, &w.s[0][0]);
            softmax_tile(op, c, it, first, w, factor);
            c.kernels.page_values(&w.s[0][0], factor, it.n_rows, pages, d, begin, end,
                                  &w.part.o[0][0]);
        } else {
            load_tile(op, c, pages, w);
            c.kernels.tile_scores(&w.q[0][0], d, it.n_rows, w.k, d, &w.s[0][0]);
            softmax_tile(op, c, it, first, w, factor);
            c.kernels.tile_values(&w.s[0][0], factor, it.n_rows, w.v, d, begin, end,
                                  &w.part.o[0][0]);
        }
    }
    for (int r = 0; r < it.n_rows; ++r) w.part.l[r] = c.kernels.sum16(w.part.lanes[r]);
}

void fold(const Context& c, float* m, float* l, float* o, float m1, float l1, const float* o1,
          int d) {
    if (m1 == kNone) return;
    if (*m == kNone) {
        *m = m1;
        *l = l1;
        std::memcpy(o, o1, sizeof(float) * static_cast<std::size_t>(d));
        return;
    }
    c.kernels.merge(m, l, o, m1, l1, o1, d);
}

float* output_row(const Op& op, const Item& it, int r) {
    const int per = op.shape.per_kv();
    const std::int64_t t = it.sequence->first_row + it.token0 + r / per;
    return op.y.data + t * op.y.stride +
           static_cast<std::int64_t>(it.g * per + r % per) * op.shape.head_dim;
}

void run_whole(const Op& op, const Context& c, const Item& it, Work& w) {
    const int d = op.shape.head_dim;
    load_queries(op, it, w);
    std::fill_n(w.total.m, it.n_rows, kNone);
    std::fill_n(w.total.l, it.n_rows, 0.0f);
    for (int p = it.lo / kPartitionKeys; p * kPartitionKeys < it.hi; ++p) {
        run_partition(op, c, it, p, w);
        for (int r = 0; r < it.n_rows; ++r)
            fold(c, &w.total.m[r], &w.total.l[r], &w.total.o[0][0] + r * d, w.part.m[r],
                 w.part.l[r], &w.part.o[0][0] + r * d, d);
    }
    for (int r = 0; r < it.n_rows; ++r)
        c.kernels.finish(&w.total.o[0][0] + r * d, w.total.l[r], output_row(op, it, r), d);
}

/// Partial results of (row of the batch, head, partition): m, l, then o.
std::int64_t partial_floats(const Op& op) { return op.shape.head_dim + 16; }
float* partial(const Op& op, const Context& c, std::int64_t row, int head, int partition) {
    const std::int64_t index = (row * op.shape.n_heads + head) * op.n_partitions + partition;
    return c.step.partials.as<float>() + index * partial_floats(op);
}

void run_one_partition(const Op& op, const Context& c, const Item& it, int p, Work& w) {
    const int d = op.shape.head_dim, per = op.shape.per_kv();
    const bool visible = p * kPartitionKeys < it.hi && (p + 1) * kPartitionKeys > it.lo;
    if (visible) {
        load_queries(op, it, w);
        run_partition(op, c, it, p, w);
    }
    for (int r = 0; r < it.n_rows; ++r) {
        const std::int64_t t = it.sequence->first_row + it.token0 + r / per;
        float* to = partial(op, c, t, it.g * per + r % per, p);
        to[0] = visible ? w.part.m[r] : kNone;
        if (!visible) continue;
        to[1] = w.part.l[r];
        std::memcpy(to + 16, &w.part.o[0][0] + r * d, sizeof(float) * static_cast<std::size_t>(d));
    }
}

int blocks_of(const Op& op, const SequenceSpan& s) {
    return (s.n_rows + op.block_tokens - 1) / op.block_tokens;
}

std::int64_t count_items(const Op& op, const BatchView& batch) {
    std::int64_t n = 0;
    for (const SequenceSpan& s : batch.sequences)
        n += static_cast<std::int64_t>(blocks_of(op, s)) * op.shape.n_kv_heads;
    return n * std::max(1, op.n_partitions);
}

}  // namespace

void plan_attention(Op& op, const BatchView& batch, int n_workers) {
    check(op.shape.per_kv() <= kMaxRows, "attention: too many query heads per kv head");
    op.block_tokens = std::max(1, kMaxRows / op.shape.per_kv());
    op.n_partitions = 0;
    int last = 0;
    for (const SequenceSpan& s : batch.sequences)
        last = std::max(last, s.first_position + s.n_rows);
    const int partitions = (last + kPartitionKeys - 1) / kPartitionKeys;
    if (partitions > 1 && count_items(op, batch) < 4 * n_workers) op.n_partitions = partitions;
}

void run_attention(const Op& op, const Context& c) {
    auto& w = *static_cast<Work*>(c.scratch.attention.reserve(sizeof(Work)));
    const std::int64_t total = count_items(op, c.step.batch);
    const std::int64_t parts = std::max(1, op.n_partitions);
    for (;;) {
        std::int64_t i = c.counter.next.fetch_add(1, std::memory_order_relaxed);
        if (i >= total || c.step.should_stop()) return;
        i = total - 1 - i;  // the last blocks of a prompt see most keys: they go first
        const auto p = static_cast<int>(i % parts);
        i /= parts;
        std::size_t s = 0;
        const auto items = [&] {
            return static_cast<std::int64_t>(blocks_of(op, c.step.batch.sequences[s])) *
                   op.shape.n_kv_heads;
        };
        for (; i >= items(); ++s) i -= items();
        const Item it =
            make_item(op, c.step.batch.sequences[s], static_cast<int>(i % op.shape.n_kv_heads),
                      static_cast<int>(i / op.shape.n_kv_heads));
        if (op.n_partitions > 0)
            run_one_partition(op, c, it, p, w);
        else
            run_whole(op, c, it, w);
    }
}

void run_attention_merge(const Op& op, const Context& c) {
    const int d = op.shape.head_dim;
    const Range items = share(op.y.rows * op.shape.n_heads, c);
    alignas(64) float o[kMaxDim];
    for (std::int64_t i = items.first; i < items.last; ++i) {
        const std::int64_t t = i / op.shape.n_heads;
        const auto h = static_cast<int>(i % op.shape.n_heads);
        float m = kNone, l = 0.0f;
        for (int p = 0; p < op.n_partitions; ++p) {
            const float* from = partial(op, c, t, h, p);
            fold(c, &m, &l, o, from[0], from[1], from + 16, d);
        }
        c.kernels.finish(o, l, op.y.data + t * op.y.stride + static_cast<std::int64_t>(h) * d, d);
    }
}

}  // namespace hearth::cpu
