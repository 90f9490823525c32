#pragma once
// A recorded step: ops as data, and what executing one needs. cpu_backend records, the op files
// (matmul.cpp, attention.cpp, rows.cpp) execute; each executes its share on every worker.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/backend.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/rung.h"
#include "kernels/cpu/unit_share.h"

namespace hearth::cpu {

enum class OpKind : std::uint8_t {
    rope_table,  ///< cos and sin of the step's positions
    embed,
    rms_norm,
    head_norm,
    quantize,  ///< x -> ActBlocks for the matmuls that follow
    matmul,    ///< one or more weights on the same x
    rope_store_kv,
    attention,        ///< whole rows, or partitions of them
    attention_merge,  ///< partitions -> rows
    gated,
    gather_outputs,
    softcap,
};

/// A matmul cuts K at multiples of this; every block divides it.
inline constexpr std::int64_t kPieceElems = 256;

/// y = x w^T of one weight within a matmul op.
struct MatmulPart {
    MatrixView y;
    TensorView w;
    TensorView bias;
    bool accumulate = false;
    int units = 0;                  ///< ceil(rows / kPanelRows)
    std::int64_t row_bytes = 0;     ///< of one row of w
    std::int64_t step_bytes = 0;    ///< of kPieceElems elements of a row
    std::int64_t bytes_before = 0;  ///< weight bytes of the parts before this one
};

/// Attention of one op, spec flattened.
struct AttentionShape {
    int n_heads = 0, n_kv_heads = 0, head_dim = 0, window = 0;
    float scale = 0, softcap = 0;
    int per_kv() const { return n_heads / n_kv_heads; }
};

struct Op {
    OpKind kind{};
    bool barrier_after = true;
    bool accumulate = false;
    /// Every worker does this for itself, in its own memory: one row, where that costs less than
    /// the barrier it saves.
    bool is_private = false;
    MatrixView y, x, extra;  ///< extra: v of rope_store_kv, up of gated
    TensorView w;
    float value = 0;  ///< eps, scale or cap
    int head_dim = 0;
    GatedActivation act{};
    KvLayer kv;
    AttentionShape shape;
    int rope = -1;                    ///< index into rope tables
    int first_part = 0, n_parts = 0;  ///< of Step::parts
    int next_matmul = -1;             ///< the op whose weights are read next, for reading ahead
    std::uint32_t share_number = 0;   ///< of UnitShare; matmul of few columns
    int block_tokens = 1;             ///< attention: query tokens per item
    int n_partitions = 0;             ///< attention: 0 = items are whole rows
};

/// cos and sin of every row of the batch for one RopeSpec, magnitude folded in.
struct RopeTable {
    RopeSpec spec;
    std::vector<float> cos, sin;  ///< (T, n_dims / 2)
    bool used = false;            ///< in this step
};

/// 64-byte aligned memory that only grows.
class Buffer {
  public:
    Buffer() = default;
    ~Buffer();
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    /// At least `bytes`; contents are kept only when nothing had to grow.
    void* reserve(std::size_t bytes);
    template <typename T>
    T* as() const {
        return static_cast<T*>(data_);
    }

  private:
    void* data_ = nullptr;
    std::size_t bytes_ = 0;
};

/// Private memory of one worker.
struct alignas(64) Scratch {
    alignas(64) std::uint8_t q[kPanelGroups][kPanelK * kGroupRows];
    alignas(64) float scale[kPanelGroups][kFloatPanelK * kGroupRows];
    alignas(64) float addend[kPanelGroups][kPanelK / 16 * kGroupRows];
    alignas(64) std::uint8_t tail[kGroupRows * kPanelK * 2];
    Buffer acc;          ///< [unit][column][kPanelRows] f32
    Buffer attention;    ///< see attention.cpp
    Buffer row;          ///< one normed row
    Buffer activations;  ///< ActBlocks of a private quantization
};

/// A dynamic counter on its own cache line, one per op.
struct alignas(64) Counter {
    std::atomic<std::int64_t> next{0};
};

struct Step {
    BatchView batch;
    std::vector<Op> ops;
    std::vector<MatmulPart> parts;
    std::vector<RopeTable> ropes;
    std::vector<int> sequence_of_row;     ///< (T)
    std::unique_ptr<Counter[]> counters;  ///< one per op
    std::size_t n_counters = 0;
    std::unique_ptr<UnitShare[]> shares;  ///< one per worker
    std::uint32_t share_number = 0;       ///< of the last op that uses them, 24 bits
    Buffer activations;                   ///< ActBlocks of the current quantization
    Buffer partials;                      ///< attention partitions of the current op
    const std::atomic<bool>* stop = nullptr;
    std::atomic<bool> stopped{false};

    /// True once the user's stop was seen; cheap enough for every work item.
    bool should_stop() {
        if (stopped.load(std::memory_order_relaxed)) return true;
        if (stop == nullptr || !stop->load(std::memory_order_relaxed)) return false;
        stopped.store(true, std::memory_order_relaxed);
        return true;
    }
};

/// What every op gets.
struct Context {
    const Kernels& kernels;
    Step& step;
    Scratch& scratch;
    Counter& counter;
    int worker;
    int n_workers;
};

/// Where the quantized activations of a matmul or quantize op lie.
inline ActBlock* activations_of(const Op& op, const Context& c) {
    return (op.is_private ? c.scratch.activations : c.step.activations).as<ActBlock>();
}
/// Part of [0, n) for a worker.
inline Range share_of(std::int64_t n, int worker, int n_workers) {
    return {n * worker / n_workers, n * (worker + 1) / n_workers};
}
/// The same for this worker.
inline Range share(std::int64_t n, const Context& c) { return share_of(n, c.worker, c.n_workers); }

void run_quantize(const Op& op, const Context& c);
void run_matmul(const Op& op, const Context& c);
void run_rope_table(const Op& op, const Context& c);
void run_embed(const Op& op, const Context& c);
void run_rms_norm(const Op& op, const Context& c);
void run_head_norm(const Op& op, const Context& c);
void run_rope_store_kv(const Op& op, const Context& c);
void run_gated(const Op& op, const Context& c);
void run_gather_outputs(const Op& op, const Context& c);
void run_softcap(const Op& op, const Context& c);
/// Decides item sizes; needs the batch.
void plan_attention(Op& op, const BatchView& batch, int n_workers);
void run_attention(const Op& op, const Context& c);
void run_attention_merge(const Op& op, const Context& c);

}  // namespace hearth::cpu
