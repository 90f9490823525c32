#pragma once
// What every backend demands of the shapes of an op, checked when the op is recorded. One place, so
// that no backend lets pass what another stops at. Knows no device; limits that one backend alone
// has are checked there.

#include <cstdint>

#include "kernels/backend.h"
#include "kernels/check.h"

namespace hearth {

inline void check_embed(const MatrixView& y, const TensorView& table, std::int64_t n_rows) {
    check(y.cols == table.cols, "embed: y and table differ in columns");
    check(y.rows == n_rows, "embed: rows of y");
}

inline void check_rms_norm(const MatrixView& y, const MatrixView& x, const TensorView& weight) {
    check(weight.dtype == DType::f32 && weight.cols == x.cols, "rms_norm: weight is f32 (D)");
    check(y.rows == x.rows && y.cols == x.cols, "rms_norm: y and x differ in shape");
}

inline void check_head_norm(const MatrixView& x, const TensorView& weight, int head_dim) {
    check(weight.dtype == DType::f32 && weight.cols == head_dim, "head_norm: weight is f32 (d)");
    check(x.cols % head_dim == 0, "head_norm: columns are whole heads");
}

inline void check_matmul(const MatrixView& y, const MatrixView& x, const TensorView& w,
                         const TensorView& bias, bool accumulate) {
    check(x.cols == w.cols && y.cols == w.rows && x.rows == y.rows, "matmul: shapes");
    check(w.cols % dtype_info(w.dtype).block_elems == 0, "matmul: K is whole blocks");
    check(!bias || (bias.dtype == DType::f32 && bias.cols == w.rows), "matmul: bias is f32 (M)");
    check(!bias || !accumulate, "matmul: bias and accumulate together");
    check(x.data != y.data, "matmul: y is x");
}

inline void check_heads(const AttentionSpec& spec) {
    check(spec.n_kv_heads > 0 && spec.n_heads % spec.n_kv_heads == 0,
          "attention: n_kv_heads must divide n_heads");
    check(spec.head_dim % 16 == 0 && spec.head_dim <= 256,
          "attention: head_dim is a multiple of 16, at most 256");
}

inline void check_rope_store_kv(const MatrixView& q, const MatrixView& k, const MatrixView& v,
                                const AttentionSpec& spec) {
    check_heads(spec);
    check(q.cols == static_cast<std::int64_t>(spec.n_heads) * spec.head_dim &&
              k.cols == static_cast<std::int64_t>(spec.n_kv_heads) * spec.head_dim &&
              v.cols == k.cols && q.rows == k.rows && q.rows == v.rows,
          "rope_store_kv: shapes");
    check(spec.rope.n_dims <= spec.head_dim, "rope_store_kv: more rotated dims than head_dim");
}

inline void check_attention(const MatrixView& y, const MatrixView& q, const AttentionSpec& spec) {
    check_heads(spec);
    check(q.cols == static_cast<std::int64_t>(spec.n_heads) * spec.head_dim && y.cols == q.cols &&
              y.rows == q.rows,
          "attention: shapes");
}

inline void check_gated(const MatrixView& gate, const MatrixView& up) {
    check(gate.rows == up.rows && gate.cols == up.cols, "gated: shapes");
}

inline void check_gather_outputs(const MatrixView& y, const MatrixView& x, std::int64_t n_outputs) {
    check(y.cols == x.cols && y.rows == n_outputs, "gather_outputs: shapes");
}

/// Rows that two ops share: the quantization of one serves the other.
inline bool same_rows(const MatrixView& a, const MatrixView& b) {
    return a.data == b.data && a.rows == b.rows && a.cols == b.cols && a.stride == b.stride;
}

}  // namespace hearth
