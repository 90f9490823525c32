#pragma once
// CpuBackend: records the ops of a step and executes them in one parallel region.

#include "kernels/cpu/program.h"

namespace hearth::cpu {

class CpuBackend final : public Backend {
  public:
    CpuBackend(CpuIsa isa, int n_threads);

    const BackendInfo& info() const override { return info_; }
    void* allocate(std::size_t bytes) override;
    void release(void* p, std::size_t bytes) override;
    void discard(void* p, std::size_t bytes) override;

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
    Op& add(OpKind kind);
    int rope_table(const RopeSpec& spec);
    void plan();
    void run_worker(int worker);
    void execute(const Op& op, const Context& c);

    BackendInfo info_;
    const Kernels& kernels_;
    Step step_;
    std::vector<std::unique_ptr<Scratch>> scratch_;  ///< one per worker
    ThreadPool pool_;
};

}  // namespace hearth::cpu
