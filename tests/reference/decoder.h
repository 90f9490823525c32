#pragma once
// A decoder in double precision that reads a model file by itself: own metadata rules, own
// dequantization, own rotary tables. Nothing of engine/model but the file's directory, nothing of
// kernels/. The oracle of the end-to-end tests.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/model/weight_file.h"
#include "tests/reference/ops.h"

namespace hearth::reference {

struct DecoderOptions {
    bool half_kv = false;           ///< round keys and values to f16, as a cache of that type does
    bool int8_activations = false;  ///< round inputs of matmuls with block-quantized weights
    int context_tokens = 0;         ///< LongRoPE: the context used; 0 = the trained one
};

class Decoder {
  public:
    explicit Decoder(const WeightFile& file, DecoderOptions options = {});

    /// Logits (n, V) of `ids` after what was fed before.
    Matrix forward(std::span<const std::int32_t> ids);
    /// The rotary frequencies and magnitude of a layer.
    std::vector<double> rope_frequencies(int layer) const;
    double rope_magnitude() const;

  private:
    struct LayerCache {
        std::vector<double> k, v;  ///< (positions, G*d)
    };
    double number(const std::string& key, double fallback) const;
    bool has(const std::string& tensor) const { return file_.find(tensor) != nullptr; }
    std::vector<double> vector(const std::string& tensor) const;
    bool is_local(int layer) const;
    Matrix linear(const Matrix& x, const std::string& tensor, int first_row = 0,
                  int n_rows = -1) const;
    void add_bias(Matrix& y, const std::string& tensor) const;
    void norm_heads(Matrix& x, const std::string& tensor) const;
    void rotate(Matrix& x, int n_heads, int layer) const;
    Matrix attend(const Matrix& x, int layer);
    Matrix feed_forward(const Matrix& x, int layer) const;
    void add_branch(Matrix& x, Matrix branch, const std::string& post_norm) const;

    const WeightFile& file_;
    DecoderOptions options_;
    std::string arch_;
    int n_layers_ = 0, hidden_ = 0, n_heads_ = 0, n_kv_heads_ = 0, head_dim_ = 0, n_rot_ = 0;
    double eps_ = 0;
    int position_ = 0;
    std::vector<LayerCache> cache_;
};

}  // namespace hearth::reference
