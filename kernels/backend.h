#pragma once
// Backend: the ops and the memory of one device. Knows shapes and bytes; knows no model.
//
// Ops *record* a step, `run` executes it: begin(batch), ops in order, run(stop). Between the ops
// of a step every result is visible to the next. The numeric contract (README.md) fixes the order
// of every floating-point sum, so the bits of a row depend on nothing but that row's inputs:
// not on the other rows of the batch, threads, instruction set, chunking or page order.
// Shapes: T tokens of the batch, R rows of batch.output_rows, D hidden, H heads, G kv heads,
// d head_dim. Misuse of shapes is a bug and stops the program.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "kernels/batch_view.h"
#include "kernels/tensor.h"

namespace hearth {

/// Bits of logits are comparable only within one numeric revision; part of every cache key.
inline constexpr int kNumericRevision = 1;

enum class RopePairing : std::uint8_t { none, consecutive, half_split };

/// Rotary embedding of one kind of layer (Su et al. 2021, eq. 34).
struct RopeSpec {
    RopePairing pairing = RopePairing::none;
    int n_dims = 0;                ///< rotated dims, even; the rest of head_dim is copied
    std::vector<double> inv_freq;  ///< (n_dims / 2) radians per position, scaling folded in
    float magnitude = 1.0f;        ///< multiplies cos and sin (YaRN, LongRoPE attention factor)
};

struct AttentionSpec {
    int n_heads = 0;
    int n_kv_heads = 0;    ///< divides n_heads
    int head_dim = 0;      ///< multiple of 16 here, at most 256
    float scale = 0.0f;    ///< multiplies q·k
    float softcap = 0.0f;  ///< 0 = none; s = cap * tanh(s / cap) before the mask
    int window = 0;        ///< 0 = all; key j is visible to query i iff i - window < j <= i
    RopeSpec rope;
};

/// Pages of one layer. Page p: keys at keys + p * page_bytes as [G][d][16 keys],
/// values at values + p * page_bytes as [G][16 keys][d] (CPU layout; a backend may differ).
struct KvLayer {
    void* keys = nullptr;
    void* values = nullptr;
    std::int64_t page_bytes = 0;  ///< from one page of keys to the next; of values too
    DType dtype = DType::f16;     ///< f16 or bf16 (f32 for tests)
    int n_kv_heads = 0;
    int head_dim = 0;
};

enum class GatedActivation : std::uint8_t { silu, gelu_tanh };

struct BackendInfo {
    std::string name;    ///< "cpu"
    std::string detail;  ///< "avx512-vnni, 2 threads"
    int n_threads = 1;
};

class Backend {
  public:
    virtual ~Backend() = default;
    virtual const BackendInfo& info() const = 0;

    /// Zeroed, 64-byte aligned (large: 2 MiB, huge pages advised). nullptr when refused.
    virtual void* allocate(std::size_t bytes) = 0;
    virtual void release(void* p, std::size_t bytes) = 0;
    /// Bytes of an allocation that read as zero from now on; their memory may go back to the
    /// system.
    virtual void discard(void* p, std::size_t bytes) { std::memset(p, 0, bytes); }
    /// Between allocations, or between one and host memory; done when it returns. Not while a step
    /// runs.
    virtual void copy(void* to, const void* from, std::size_t bytes) {
        std::memcpy(to, from, bytes);
    }

    /// Starts recording a step. `batch` and all views must stay valid until run returns.
    virtual void begin(const BatchView& batch) = 0;
    /// y[t] = dequantize(table[token[t]]) * scale.               y (T, D), table (V, D)
    virtual void embed(MatrixView y, const TensorView& table, float scale) = 0;
    /// y = x / sqrt(mean(x^2) + eps) * weight per row, or y += that.   x, y (n, D), weight (D)
    virtual void rms_norm(MatrixView y, MatrixView x, const TensorView& weight, float eps,
                          bool accumulate = false) = 0;
    /// The same per head, in place.                              x (n, heads*d), weight (d)
    virtual void head_norm(MatrixView x, const TensorView& weight, int head_dim, float eps) = 0;
    /// y = x w^T (+ bias), or y += x w^T. Consecutive matmuls of one x share its quantization.
    ///                                            x (n, K), w (M, K), y (n, M), bias (M) f32
    virtual void matmul(MatrixView y, MatrixView x, const TensorView& w,
                        const TensorView& bias = {}, bool accumulate = false) = 0;
    /// Rotates q and k, stores k and v, rounded to the KV type, in the pages of the batch.
    ///                                            q (T, H*d) in place, k, v (T, G*d)
    virtual void rope_store_kv(MatrixView q, MatrixView k, MatrixView v, const KvLayer& kv,
                               const AttentionSpec& spec) = 0;
    /// y = softmax(q k^T) v over pages, causal, windowed.         q, y (T, H*d)
    virtual void attention(MatrixView y, MatrixView q, const KvLayer& kv,
                           const AttentionSpec& spec) = 0;
    /// gate = act(gate) * up.                                    gate, up (n, F)
    virtual void gated(MatrixView gate, MatrixView up, GatedActivation act) = 0;
    /// y[r] = x[batch.output_rows[r]].                           x (T, D), y (R, D)
    virtual void gather_outputs(MatrixView y, MatrixView x) = 0;
    /// x = cap * tanh(x / cap).
    virtual void softcap(MatrixView x, float cap) = 0;

    /// Executes what was recorded. `stop` is read at least per panel of a matmul; returns false
    /// when it was seen: outputs and the pages written by this step are then undefined.
    virtual bool run(const std::atomic<bool>* stop = nullptr) = 0;
};

// --- the CPU backend (kernels/cpu) --------------------------------------------------------------

enum class CpuIsa : std::uint8_t { automatic, scalar, avx2, avxvnni, vnni256, avx512 };

struct CpuOptions {
    int n_threads = 0;  ///< 0 = what affinity, cgroup quota and physical cores allow
    CpuIsa isa = CpuIsa::automatic;
};

const char* cpu_isa_name(CpuIsa isa);
/// Rungs that this processor can execute, slowest first. All give equal bits.
std::vector<CpuIsa> supported_cpu_isas();
/// min(affinity mask, floor of the cgroup CPU quota, physical cores), at least 1.
int default_cpu_threads();
/// nullptr when the processor lacks `options.isa`.
std::unique_ptr<Backend> make_cpu_backend(const CpuOptions& options);

/// Read bandwidth in GB/s and int8 peak in GOPS of this machine with `n_threads`, measured now
/// (about a second). For `bench`.
struct CpuRoof {
    double read_gb_s = 0;
    double int8_gops = 0;
};
CpuRoof measure_cpu_roof(int n_threads);

}  // namespace hearth
