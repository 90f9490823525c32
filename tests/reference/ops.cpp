#include "tests/reference/ops.h"

#include <algorithm>
#include <cmath>

namespace hearth::reference {

Matrix quantize_activations(const std::vector<float>& x, int rows) {
    const int cols = static_cast<int>(x.size()) / rows;
    Matrix result(rows, cols);
    for (std::size_t block = 0; block < x.size(); block += 32) {
        float amax = 0;
        for (std::size_t i = block; i < block + 32; ++i) amax = std::max(amax, std::fabs(x[i]));
        if (amax < 0x1p-100f) continue;
        const float d = amax / 127.0f, inverse = 127.0f / amax;
        for (std::size_t i = block; i < block + 32; ++i)
            result.v[i] = static_cast<double>(d) * std::nearbyint(x[i] * inverse);
    }
    return result;
}

Product matmul(const Matrix& x, const Matrix& w) {
    Product p{Matrix(x.rows, w.rows), Matrix(x.rows, w.rows)};
    for (int t = 0; t < x.rows; ++t) {
        for (int m = 0; m < w.rows; ++m) {
            for (int k = 0; k < w.cols; ++k) {
                const double term = x.at(t, k) * w.at(m, k);
                p.y.at(t, m) += term;
                p.magnitude.at(t, m) += std::fabs(term);
            }
        }
    }
    return p;
}

Matrix rms_norm(const Matrix& x, const std::vector<double>& weight, double eps) {
    Matrix y(x.rows, x.cols);
    for (int t = 0; t < x.rows; ++t) {
        double sum = 0;
        for (int k = 0; k < x.cols; ++k) sum += x.at(t, k) * x.at(t, k);
        const double r = 1.0 / std::sqrt(sum / x.cols + eps);
        for (int k = 0; k < x.cols; ++k)
            y.at(t, k) = x.at(t, k) * r * weight[static_cast<std::size_t>(k)];
    }
    return y;
}

void rope(double* head, const std::vector<double>& inv_freq, double position, bool half_split,
          double magnitude) {
    const std::size_t pairs = inv_freq.size();
    for (std::size_t i = 0; i < pairs; ++i) {
        double& a = head[half_split ? i : 2 * i];
        double& b = head[half_split ? i + pairs : 2 * i + 1];
        const double angle = position * inv_freq[i];
        const double c = std::cos(angle) * magnitude, s = std::sin(angle) * magnitude;
        const double rotated_a = a * c - b * s, rotated_b = a * s + b * c;
        a = rotated_a;
        b = rotated_b;
    }
}

Matrix attention(const Matrix& q, const Matrix& k, const Matrix& v, int first,
                 const AttentionParams& p) {
    Matrix y(q.rows, q.cols);
    const int per = p.n_heads / p.n_kv_heads, d = p.head_dim;
    for (int t = 0; t < q.rows; ++t) {
        const int position = first + t;
        const int lo = p.window > 0 ? std::max(0, position - p.window + 1) : 0;
        for (int h = 0; h < p.n_heads; ++h) {
            const int g = h / per;
            std::vector<double> s;
            for (int j = lo; j <= position; ++j) {
                double dot = 0;
                for (int i = 0; i < d; ++i) dot += q.at(t, h * d + i) * k.at(j, g * d + i);
                dot *= p.scale;
                s.push_back(p.softcap > 0 ? softcap(dot, p.softcap) : dot);
            }
            const double top = *std::max_element(s.begin(), s.end());
            double sum = 0;
            for (double& e : s) sum += e = std::exp(e - top);
            for (int j = lo; j <= position; ++j)
                for (int i = 0; i < d; ++i)
                    y.at(t, h * d + i) +=
                        s[static_cast<std::size_t>(j - lo)] / sum * v.at(j, g * d + i);
        }
    }
    return y;
}

double silu(double x) { return x / (1.0 + std::exp(-x)); }

double gelu_tanh(double x) {
    return 0.5 * x *
           (1.0 + std::tanh(std::sqrt(2.0 / std::acos(-1.0)) * (x + 0.044715 * x * x * x)));
}

double softcap(double x, double cap) { return cap * std::tanh(x / cap); }

}  // namespace hearth::reference
