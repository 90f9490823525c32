#pragma once
// The ops in double precision, written plainly from their definitions. The oracle of the kernel
// tests; calls no code of kernels/ and no shortcut of it (no tiles, no blocks but the
// activations').

#include <cstdint>
#include <vector>

namespace hearth::reference {

/// Row-major (rows, cols).
struct Matrix {
    int rows = 0, cols = 0;
    std::vector<double> v;
    Matrix() = default;
    Matrix(int r, int c)
        : rows(r),
          cols(c),
          v(static_cast<std::size_t>(r) * static_cast<std::size_t>(c)) {}
    Matrix(int r, int c, const std::vector<float>& from)
        : rows(r),
          cols(c),
          v(from.begin(), from.end()) {}
    double& at(int r, int c) {
        return v[static_cast<std::size_t>(r) * static_cast<std::size_t>(cols) +
                 static_cast<std::size_t>(c)];
    }
    double at(int r, int c) const {
        return v[static_cast<std::size_t>(r) * static_cast<std::size_t>(cols) +
                 static_cast<std::size_t>(c)];
    }
};

/// x rounded to int8 per 32 elements: d = amax / 127 in f32, q = x * (127 / amax) in f32, half to
/// even; the result is d * q.
Matrix quantize_activations(const std::vector<float>& x, int rows);

/// y = x w^T, and magnitude = |x| |w|^T, the scale of its rounding errors.
struct Product {
    Matrix y, magnitude;
};
Product matmul(const Matrix& x, const Matrix& w);

Matrix rms_norm(const Matrix& x, const std::vector<double>& weight, double eps);

/// One head (d) at a position; inv_freq has n_dims / 2 entries; pairs (2i, 2i+1) or (i, i+n/2).
void rope(double* head, const std::vector<double>& inv_freq, double position, bool half_split,
          double magnitude);

struct AttentionParams {
    int n_heads = 0, n_kv_heads = 0, head_dim = 0, window = 0;
    double scale = 1, softcap = 0;
};
/// q (n, H*d) at positions first.., k and v (positions, G*d) from position 0; causal.
Matrix attention(const Matrix& q, const Matrix& k, const Matrix& v, int first,
                 const AttentionParams& p);

double silu(double x);
double gelu_tanh(double x);
double softcap(double x, double cap);

}  // namespace hearth::reference
