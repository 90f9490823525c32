// Runner's own code; a *_test.cpp so that it belongs to this area's binary.

#include "tests/engine/model/runner.h"

#include <algorithm>
#include <numeric>

#include <catch2/catch.hpp>

#include "kernels/device.h"

namespace hearth::test {

namespace {

LoadedModel load(LoadedModel m, int context_tokens) {
    const auto family = find_family(*m.file);
    INFO((family ? "" : family.error().what));
    REQUIRE(family);
    auto config = (*family)->config(*m.file, context_tokens);
    INFO((config ? "" : config.error().what));
    REQUIRE(config);
    m.config = std::move(*config);
    auto weights = (*family)->weights(*m.file, m.config);
    INFO((weights ? "" : weights.error().what));
    REQUIRE(weights);
    m.weights = std::move(*weights);
    return m;
}

}  // namespace

LoadedModel load_bytes(std::vector<std::uint8_t> bytes, int context_tokens) {
    LoadedModel m;
    m.bytes = std::move(bytes);
    auto file = WeightFile::parse(m.bytes, "tiny.gguf");
    INFO((file ? "" : file.error().what));
    REQUIRE(file);
    m.file = *file;
    return load(std::move(m), context_tokens);
}

LoadedModel load_path(const std::string& path) {
    auto file = WeightFile::open(path);
    INFO((file ? "" : file.error().what));
    REQUIRE(file);
    LoadedModel m;
    m.file = *file;
    return load(std::move(m), 0);
}

Runner::Runner(const LoadedModel& model, Backend& backend, DType kv, int max_tokens,
               bool reversed_pages)
    : model_(model),
      backend_(backend) {
    const int n_pages = (max_tokens + kPageTokens - 1) / kPageTokens;
    pages_.resize(static_cast<std::size_t>(n_pages));
    std::iota(pages_.begin(), pages_.end(), 0);
    if (reversed_pages) std::reverse(pages_.begin(), pages_.end());
    for (const AttentionSpec& a : model.config.attention) {
        KvLayer layer;
        layer.dtype = kv;
        layer.n_kv_heads = a.n_kv_heads;
        layer.head_dim = a.head_dim;
        layer.page_bytes = row_bytes(kv, std::int64_t{kPageTokens} * a.n_kv_heads * a.head_dim);
        const auto bytes = static_cast<std::size_t>(layer.page_bytes * n_pages);
        layer.keys = backend.allocate(bytes);
        layer.values = backend.allocate(bytes);
        memory_.push_back({layer.keys, bytes});
        memory_.push_back({layer.values, bytes});
        kv_.push_back(layer);
    }
}

Runner::~Runner() {
    for (const Memory& m : memory_) backend_.release(m.data, m.bytes);
}

std::vector<std::vector<float>> Runner::forward(std::span<const std::int32_t> ids, int chunk,
                                                bool last_only) {
    std::vector<std::vector<float>> out;
    for (std::size_t at = 0; at < ids.size(); at += static_cast<std::size_t>(chunk)) {
        const auto part =
            ids.subspan(at, std::min(ids.size() - at, static_cast<std::size_t>(chunk)));
        std::vector<std::int32_t> rows(part.size());
        std::iota(rows.begin(), rows.end(), 0);
        if (last_only) rows.assign(1, static_cast<std::int32_t>(part.size()) - 1);
        if (last_only) out.clear();
        step(part, rows, out);
    }
    return out;
}

void Runner::step(std::span<const std::int32_t> ids, std::span<const std::int32_t> rows,
                  std::vector<std::vector<float>>& out) {
    const int n = static_cast<int>(ids.size());
    auto a = Activations::make(model_.config, backend_, n, static_cast<int>(rows.size()));
    REQUIRE(a);
    const SequenceSpan span{0, n, position_, pages_.data(), static_cast<int>(pages_.size())};
    const BatchView batch{ids, {&span, 1}, rows};
    backend_.begin(batch);
    decode(model_.config, model_.weights, batch, kv_, **a, backend_);
    REQUIRE(backend_.run());
    const MatrixView logits = on_host(backend_, (*a)->logits);
    for (std::size_t r = 0; r < rows.size(); ++r) {
        const float* row = logits.data + static_cast<std::int64_t>(r) * logits.stride;
        out.emplace_back(row, row + logits.cols);
    }
    position_ += n;
}

}  // namespace hearth::test
