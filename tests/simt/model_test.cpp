// Whole models on the emulated card: every family against the double-precision decoder and the CPU
// backend, and bit for bit however the sequence is fed. Tolerances as in
// engine/model/families_test.
#include <algorithm>
#include <cmath>

#include "simt_support.h"
#include "tests/engine/model/runner.h"
#include "tests/reference/decoder.h"
#include "tests/support/tiny_model.h"

using namespace hearth;
using namespace hearth::test;

namespace {

std::vector<std::int32_t> some_ids(int n) {
    std::vector<std::int32_t> ids;
    for (int i = 0; i < n; ++i) ids.push_back((i * 37 + i * i * 11 + 5) % kTinyVocabularySize);
    return ids;
}

TinyOptions of_family(const std::string& family, DType dtype) {
    TinyOptions o;
    o.family = family;
    o.dtype = dtype;
    o.hidden_size = 256;
    o.intermediate_size = 256;
    o.n_heads = 4;
    o.n_kv_heads = 2;
    o.head_dim = 64;
    return o;
}

/// Root mean square of the difference over that of the reference, of the worst row.
double worst_row(const std::vector<std::vector<float>>& got, const reference::Matrix& expected) {
    REQUIRE(static_cast<int>(got.size()) == expected.rows);
    double worst = 0;
    for (int t = 0; t < expected.rows; ++t) {
        double sum = 0, squares = 0;
        for (int c = 0; c < expected.cols; ++c) {
            const double e = expected.at(t, c);
            const double d = got[static_cast<std::size_t>(t)][static_cast<std::size_t>(c)] - e;
            sum += e * e;
            squares += std::isfinite(d) ? d * d : 1e18;
        }
        worst = std::max(worst, std::sqrt(squares / sum));
    }
    return worst;
}

}  // namespace

TEST_CASE("every family on the card against the decoder in double precision", "[cuda][model]") {
    const std::string family =
        GENERATE(as<std::string>{}, "llama", "qwen2", "qwen3", "gemma2", "gemma3", "phi3");
    const DType dtype = GENERATE(DType::f32, DType::q4_k);
    INFO(family << " " << dtype_info(dtype).name);
    const LoadedModel model = load_bytes(tiny_writer(of_family(family, dtype)).build());
    const auto ids = some_ids(20);
    reference::Decoder decoder(*model.file, {.half_kv = true, .int8_activations = true});
    const auto expected = decoder.forward(ids);
    const auto b = card();
    Runner runner(model, *b, DType::f16, 20, true);
    const double rms = worst_row(runner.forward(ids, 20), expected);
    CHECK(rms < (dtype == DType::f32 ? 1e-3 : 2.3e-2));
}

TEST_CASE("logits of the card do not depend on how the sequence is fed",
          "[cuda][model][invariance]") {
    const std::string family = GENERATE(as<std::string>{}, "llama", "gemma3");
    const DType dtype = GENERATE(DType::q4_k, DType::q8_0);
    INFO(family << " " << dtype_info(dtype).name);
    const LoadedModel model = load_bytes(tiny_writer(of_family(family, dtype)).build());
    const auto ids = some_ids(40);
    const auto b = card();
    std::vector<std::vector<float>> first;
    each_schedule([&] {
        for (const int chunk : {40, 1, 9, 17}) {
            if (chunk == 1 && !is_first_schedule()) continue;
            INFO("chunk " << chunk);
            Runner runner(model, *b, DType::f16, 40, chunk == 9);
            const auto logits = runner.forward(ids, chunk);
            if (first.empty()) first = logits;
            for (std::size_t i = 0; i < logits.size(); ++i) {
                INFO("position " << i);
                CHECK(same_bits(logits[i], first[i]));
            }
        }
    });
}
