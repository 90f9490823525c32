#pragma once
// Weights: views of one model's tensors with the names of the field. Memory is the mapped file's.

#include <vector>

#include "kernels/tensor.h"

namespace hearth {

/// Optional tensors are empty views. Shapes (rows, cols): D hidden, H heads, G kv heads,
/// d head_dim, F intermediate, V vocabulary.
struct LayerWeights {
    TensorView attn_norm;       ///< (1, D)
    TensorView wq, wk, wv;      ///< (H*d, D), (G*d, D), (G*d, D)
    TensorView bq, bk, bv;      ///< optional (1, H*d), (1, G*d), (1, G*d) f32
    TensorView q_norm, k_norm;  ///< optional (1, d)
    TensorView wo;              ///< (D, H*d)
    TensorView attn_post_norm;  ///< optional (1, D): Gemma, on the branch
    TensorView ffn_norm;        ///< (1, D)
    TensorView w_gate, w_up;    ///< (F, D)
    TensorView w_down;          ///< (D, F)
    TensorView ffn_post_norm;   ///< optional (1, D)
};

struct Weights {
    TensorView token_embedding;  ///< (V, D)
    std::vector<LayerWeights> layers;
    TensorView final_norm;  ///< (1, D)
    TensorView lm_head;     ///< (V, D); the embedding when tied
};

/// All of them that are there. first_layer > 0: what the layers from there on and the head need, so
/// without the embedding, unless it is the head.
std::vector<TensorView> every_tensor(const Weights& weights, int first_layer = 0);

}  // namespace hearth
