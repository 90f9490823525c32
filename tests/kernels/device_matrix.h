#pragma once
// Matrix: n rows in the memory of a backend, the host's or a card's.

#include <cstdint>
#include <vector>

#include <catch2/catch.hpp>

#include "kernels/backend.h"

namespace hearth::test {

/// A matrix in the memory of a backend.
class Matrix {
  public:
    Matrix(Backend& b, const std::vector<float>& values, std::int64_t rows)
        : backend_(b),
          rows_(rows),
          bytes_(values.size() * sizeof(float)),
          data_(static_cast<float*>(b.allocate(bytes_))) {
        REQUIRE(data_ != nullptr);
        if (bytes_ > 0) b.copy(data_, values.data(), bytes_);
    }
    ~Matrix() { backend_.release(data_, bytes_); }
    Matrix(const Matrix&) = delete;
    Matrix& operator=(const Matrix&) = delete;

    MatrixView view() const {
        const std::int64_t cols =
            rows_ == 0 ? 0 : static_cast<std::int64_t>(bytes_ / sizeof(float)) / rows_;
        return {data_, rows_, cols, cols};
    }
    std::vector<float> read() const {
        std::vector<float> v(bytes_ / sizeof(float));
        if (bytes_ > 0) backend_.copy(v.data(), data_, bytes_);
        return v;
    }

  private:
    Backend& backend_;
    std::int64_t rows_;
    std::size_t bytes_;
    float* data_;
};

}  // namespace hearth::test
