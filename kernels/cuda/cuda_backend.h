#pragma once
// CudaBackend: records the ops of a step, then copies its inputs in one piece and launches one
// kernel after the other on one stream. Owns the stream, the copies of the weights and the working
// memory of the kernels. An error of the device ends it: from then on run does nothing and
// failure() says why.

#include <memory>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "kernels/cuda/graph_cache.h"
#include "kernels/cuda/memory.h"
#include "kernels/cuda/ops.h"
#include "kernels/cuda/step_inputs.h"
#include "kernels/cuda/weight_store.h"
#include "kernels/device.h"

namespace hearth::cuda {

class CudaBackend final : public CardBackend {
  public:
    CudaBackend(const CardStatus& card, int device);
    ~CudaBackend() override;

    const BackendInfo& info() const override { return info_; }
    void* allocate(std::size_t bytes) override;
    void release(void* p, std::size_t bytes) override;
    void discard(void* p, std::size_t bytes) override;
    void copy(void* to, const void* from, std::size_t bytes) override;
    std::int64_t free_bytes() const override;
    std::string load_weights(std::span<const TensorView> weights,
                             const Progress& progress) override;
    std::int64_t workspace_bytes(const StepLimits& limits) const override;
    bool reserve(const StepLimits& limits) override;
    std::int64_t weight_bytes(std::span<const TensorView> weights) const override {
        return WeightStore::bytes_of(weights);
    }
    void drop_weights() override;
    /// Steps that ran as a captured graph, and in all: for tests and reports.
    std::int64_t n_graph_steps() const { return n_graph_steps_; }
    std::int64_t n_steps() const { return n_steps_; }
    MatrixView on_host(MatrixView m) override;
    std::string failure() const override { return failure_; }

    void begin(const BatchView& batch) override;
    void embed(MatrixView y, const TensorView& table, float scale) override;
    void rms_norm(MatrixView y, MatrixView x, const TensorView& weight, float eps,
                  bool accumulate) override;
    void head_norm(MatrixView x, const TensorView& weight, int head_dim, float eps) override;
    void matmul(MatrixView y, MatrixView x, const TensorView& w, const TensorView& bias,
                bool accumulate) override;
    void rope_store_kv(MatrixView q, MatrixView k, MatrixView v, const KvLayer& kv,
                       const AttentionSpec& spec) override;
    void attention(MatrixView y, MatrixView q, const KvLayer& kv,
                   const AttentionSpec& spec) override;
    void gated(MatrixView gate, MatrixView up, GatedActivation act) override;
    void gather_outputs(MatrixView y, MatrixView x) override;
    void softcap(MatrixView x, float cap) override;
    bool run(const std::atomic<bool>* stop) override;

  private:
    enum class Kind : std::uint8_t {
        embed,
        rms_norm,
        head_norm,
        quantize,
        matmul,
        rope_store_kv,
        attention,
        gated,
        gather_outputs,
        softcap,
    };
    struct Op {
        Kind kind{};
        bool accumulate = false;
        MatrixView y, x, extra;  ///< extra: v of rope_store_kv
        DeviceWeight w;
        const float* vector = nullptr;  ///< weight of a norm, bias of a matmul
        float value = 0;                ///< eps, scale or cap
        int head_dim = 0;
        int quantize_groups = 0;  ///< > 0: the op also quantizes its y
        GatedActivation act{};
        KvLayer kv;
        AttentionSpec spec;
        StepInputs::Rope rope;
        StepInputs::Tiles tiles;
    };

    struct Workspace {
        std::int64_t quantized, partials, inputs;
    };
    Workspace workspace(const StepLimits& limits) const;
    Op& add(Kind kind);
    DeviceWeight weight(const TensorView& w);
    const float* vector(const TensorView& w);
    void quantize(const MatrixView& x, int groups);
    bool check_error(cudaError_t e, const char* what);
    static bool is_empty(const Op& op) { return (op.y.data != nullptr ? op.y : op.x).rows == 0; }
    cudaError_t execute(const Op& op);
    cudaError_t execute_attention(const Op& op);
    bool launch_all(const std::atomic<bool>* stop);
    GraphKey graph_key() const;
    bool launch_graph(const std::string& key);
    bool capture(const std::string& key);

    BackendInfo info_;
    int device_;
    int n_multiprocessors_;
    std::string failure_;
    Stream stream_;
    Event paced_[2];  ///< keep the queue short, so that a stop is soon obeyed
    WeightStore weights_;
    StepInputs inputs_;
    std::vector<Op> ops_;
    MatrixView
        quantized_;  ///< the rows that quantized_memory_ will hold at this point of the record
    std::size_t quantized_bytes_ = 0, partial_bytes_ = 0;  ///< needed by the step
    DeviceBuffer quantized_memory_, partials_;
    PinnedBuffer host_rows_;
    GraphCache graphs_;
    bool use_graphs_ = true;
    std::int64_t n_graph_steps_ = 0, n_steps_ = 0;
};

}  // namespace hearth::cuda
