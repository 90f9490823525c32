#pragma once
// What the attention tests of every backend share: shapes, inputs, the oracle, and a runner that
// owns the KV pages of one sequence.

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "kernels/math.h"
#include "tests/kernels/device_matrix.h"
#include "tests/kernels/support.h"
#include "tests/reference/ops.h"

namespace hearth::test {

struct AttentionShape {
    int n_heads, n_kv_heads, head_dim;
    int window = 0;
    float softcap = 0;
    DType dtype = DType::f16;
    RopePairing pairing = RopePairing::none;
    int n_dims = 0;
};

inline AttentionSpec spec_of(const AttentionShape& s) {
    AttentionSpec a;
    a.n_heads = s.n_heads;
    a.n_kv_heads = s.n_kv_heads;
    a.head_dim = s.head_dim;
    a.scale = 1.0f / std::sqrt(static_cast<float>(s.head_dim));
    a.softcap = s.softcap;
    a.window = s.window;
    a.rope.pairing = s.pairing;
    a.rope.n_dims = s.n_dims;
    for (int i = 0; i < s.n_dims / 2; ++i)
        a.rope.inv_freq.push_back(own_pow(10000.0, -2.0 * i / s.n_dims));
    return a;
}

/// q, k, v of one sequence; k and v are values that either KV type holds exactly.
struct AttentionInputs {
    std::vector<float> q, k, v;
    int n = 0;
};
inline AttentionInputs random_inputs(const AttentionShape& s, int n, Rng& rng) {
    AttentionInputs in;
    in.n = n;
    const auto fill = [&](std::vector<float>& x, int heads, float scale) {
        x.resize(static_cast<std::size_t>(n * heads * s.head_dim));
        for (float& f : x)
            f = static_cast<float>(static_cast<int>(rng() % 65) - 32) / 32.0f * scale;
    };
    fill(in.q, s.n_heads, 2.0f);
    fill(in.k, s.n_kv_heads, 2.0f);
    fill(in.v, s.n_kv_heads, 1.0f);
    return in;
}

/// The same in double precision, without rope.
inline reference::Matrix attention_oracle(const AttentionShape& s, const AttentionInputs& in) {
    const AttentionSpec a = spec_of(s);
    return reference::attention(
        {in.n, s.n_heads * s.head_dim, in.q}, {in.n, s.n_kv_heads * s.head_dim, in.k},
        {in.n, s.n_kv_heads * s.head_dim, in.v}, 0,
        {s.n_heads, s.n_kv_heads, s.head_dim, s.window, a.scale, s.softcap});
}

/// The largest difference; NaN when there is one.
inline double worst(const std::vector<float>& y, const reference::Matrix& expected) {
    double top = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
        const double e = std::fabs(y[i] - expected.v[i]);
        top = e > top || std::isnan(e) ? e : top;
    }
    return top;
}

inline std::vector<float> rows_of(const std::vector<float>& x, int n, int first, int rows) {
    const auto row = static_cast<std::ptrdiff_t>(x.size()) / n;
    return {x.begin() + row * first, x.begin() + row * (first + rows)};
}

/// KV storage of one layer, its pages in a given order, and the step that computes rows
/// [first, first + rows) of the inputs.
class AttentionRunner {
  public:
    AttentionRunner(Backend& b, const AttentionShape& s, int n_positions, unsigned page_seed)
        : backend_(b),
          spec_(spec_of(s)) {
        const int n_pages = (n_positions + kPageTokens - 1) / kPageTokens;
        pages_.resize(static_cast<std::size_t>(n_pages));
        std::iota(pages_.begin(), pages_.end(), 1);
        if (page_seed != 0) {
            Rng rng(page_seed);
            std::shuffle(pages_.begin(), pages_.end(), rng);
        }
        layer_.dtype = s.dtype;
        layer_.n_kv_heads = s.n_kv_heads;
        layer_.head_dim = s.head_dim;
        layer_.page_bytes = row_bytes(s.dtype, s.n_kv_heads * s.head_dim * kPageTokens);
        bytes_ =
            static_cast<std::size_t>(layer_.page_bytes) * static_cast<std::size_t>(n_pages + 1);
        layer_.keys = b.allocate(bytes_);
        layer_.values = b.allocate(bytes_);
    }
    ~AttentionRunner() {
        backend_.release(layer_.keys, bytes_);
        backend_.release(layer_.values, bytes_);
    }
    AttentionRunner(const AttentionRunner&) = delete;
    AttentionRunner& operator=(const AttentionRunner&) = delete;

    std::vector<float> run(const AttentionInputs& in, int first, int rows) {
        const Matrix q(backend_, rows_of(in.q, in.n, first, rows), rows);
        const Matrix k(backend_, rows_of(in.k, in.n, first, rows), rows);
        const Matrix v(backend_, rows_of(in.v, in.n, first, rows), rows);
        const Matrix y(backend_, std::vector<float>(q.read().size(), -3.0f), rows);
        const SequenceSpan span{0, rows, first, pages_.data(), static_cast<int>(pages_.size())};
        const std::vector<std::int32_t> tokens(static_cast<std::size_t>(rows));
        BatchView batch;
        batch.tokens = tokens;
        batch.sequences = {&span, 1};
        backend_.begin(batch);
        backend_.rope_store_kv(q.view(), k.view(), v.view(), layer_, spec_);
        backend_.attention(y.view(), q.view(), layer_, spec_);
        CHECK(backend_.run());
        rotated_q_ = q.read();
        return y.read();
    }
    /// All rows in chunks of `chunk`.
    std::vector<float> run_chunks(const AttentionInputs& in, int chunk) {
        std::vector<float> all;
        for (int first = 0; first < in.n; first += chunk) {
            const auto y = run(in, first, std::min(chunk, in.n - first));
            all.insert(all.end(), y.begin(), y.end());
        }
        return all;
    }
    const KvLayer& layer() const { return layer_; }
    const std::vector<std::int32_t>& pages() const { return pages_; }
    /// Of the last run.
    const std::vector<float>& rotated_q() const { return rotated_q_; }

  private:
    Backend& backend_;
    AttentionSpec spec_;
    KvLayer layer_;
    std::size_t bytes_ = 0;
    std::vector<std::int32_t> pages_;
    std::vector<float> rotated_q_;
};

}  // namespace hearth::test
