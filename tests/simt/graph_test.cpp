// Steps captured as graphs on the emulated card: they are replayed, give the bits of plain
// launches, and are not used once what they point to has changed.
#include "kernels/cuda/cuda_backend.h"
#include "simt_support.h"

using namespace hearth;
using namespace hearth::test;

namespace {

/// A layer with attention, one token at a time.
class Decoder {
  public:
    explicit Decoder(CardBackend& b)
        : b_(b),
          x_(b, std::vector<float>(kHidden), 1),
          h_(b, std::vector<float>(kHidden), 1),
          q_(b, std::vector<float>(kHidden), 1),
          k_(b, std::vector<float>(kHidden / 2), 1),
          v_(b, std::vector<float>(kHidden / 2), 1),
          y_(b, std::vector<float>(kHidden), 1),
          out_(b, std::vector<float>(kHidden), 1) {
        Rng rng(61);
        table_ = random_weights(DType::q8_0, 32, kHidden, rng);
        wq_ = random_weights(DType::q4_k, kHidden, kHidden, rng);
        wk_ = random_weights(DType::q5_0, kHidden / 2, kHidden, rng);
        spec_.n_heads = 4;
        spec_.n_kv_heads = 2;
        spec_.head_dim = 64;
        spec_.scale = 0.125f;
        spec_.rope = {RopePairing::half_split, 64, std::vector<double>(32, 0.01), 1.0f};
        layer_.n_kv_heads = 2;
        layer_.head_dim = 64;
        layer_.dtype = DType::f16;
        layer_.page_bytes = 2 * 64 * 16 * 2;
        bytes_ = static_cast<std::size_t>(layer_.page_bytes) * kPages;
        layer_.keys = b.allocate(bytes_);
        layer_.values = b.allocate(bytes_);
        for (int i = 0; i < kPages; ++i) pages_.push_back((i * 5 + 3) % kPages);
    }
    ~Decoder() {
        b_.release(layer_.keys, bytes_);
        b_.release(layer_.values, bytes_);
        b_.drop_weights();
    }
    Decoder(const Decoder&) = delete;
    Decoder& operator=(const Decoder&) = delete;

    std::vector<float> step(int position) {
        const std::int32_t token = (position * 7) % 32, row = 0;
        const int n_pages = position / kPageTokens + 1;
        const SequenceSpan span{0, 1, position, pages_.data(), n_pages};
        BatchView batch;
        batch.tokens = {&token, 1};
        batch.sequences = {&span, 1};
        batch.output_rows = {&row, 1};
        b_.begin(batch);
        b_.embed(x_.view(), {table_.data(), DType::q8_0, 32, kHidden}, 1.0f);
        b_.matmul(q_.view(), x_.view(), {wq_.data(), DType::q4_k, kHidden, kHidden});
        b_.matmul(k_.view(), x_.view(), {wk_.data(), DType::q5_0, kHidden / 2, kHidden});
        b_.matmul(v_.view(), x_.view(), {wk_.data(), DType::q5_0, kHidden / 2, kHidden});
        b_.rope_store_kv(q_.view(), k_.view(), v_.view(), layer_, spec_);
        b_.attention(y_.view(), q_.view(), layer_, spec_);
        b_.gather_outputs(out_.view(), y_.view());
        CHECK(b_.run());
        CHECK(b_.failure() == "");
        return out_.read();
    }

  private:
    static constexpr int kHidden = 256, kPages = 37;
    CardBackend& b_;
    Matrix x_, h_, q_, k_, v_, y_, out_;
    std::vector<std::uint8_t> table_, wq_, wk_;
    AttentionSpec spec_;
    KvLayer layer_;
    std::size_t bytes_ = 0;
    std::vector<std::int32_t> pages_;
};

cuda::CudaBackend& as_cuda(Backend& b) { return dynamic_cast<cuda::CudaBackend&>(b); }

}  // namespace

TEST_CASE("decode steps are replayed as graphs with the bits of plain launches", "[cuda][graph]") {
    const auto graphs = card();
    Decoder decoder(*graphs);
    // Across pages, and across the border of the first partition.
    constexpr int kSteps = 530;
    std::vector<std::vector<float>> first;
    for (int i = 0; i < kSteps; ++i) first.push_back(decoder.step(i));
    // All but two steps of each bucket: up to 512 keys and beyond (a partition more).
    CHECK(as_cuda(*graphs).n_steps() == kSteps);
    CHECK(as_cuda(*graphs).n_graph_steps() >= kSteps - 6);
    const auto plain = card();
    Decoder again(*plain);
    for (int i = 0; i < kSteps; ++i) {
        // A weight dropped is a graph dropped: every step is launched kernel by kernel.
        plain->drop_weights();
        INFO("position " << i);
        const auto y = again.step(i);
        if (!same_bits(y, first[static_cast<std::size_t>(i)])) FAIL("bits differ");
    }
    CHECK(as_cuda(*plain).n_graph_steps() == 0);
}
