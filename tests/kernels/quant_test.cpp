// Decoders of the weight formats against values of the gguf package (tests/golden/quant/make.py),
// and the unpackers of every rung through the matmul with unit activations.
#include <cmath>
#include <fstream>

#include <catch2/catch.hpp>

#include "tests/kernels/support.h"

using namespace hearth;

namespace {

std::vector<std::uint8_t> from_hex(const std::string& text) {
    std::vector<std::uint8_t> bytes(text.size() / 2);
    for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = static_cast<std::uint8_t>(std::stoi(text.substr(2 * i, 2), nullptr, 16));
    return bytes;
}

}  // namespace

TEST_CASE("every format decodes to the bits of the golden values", "[kernel][quant]") {
    std::ifstream file(HEARTH_SOURCE_DIR "/tests/golden/quant/blocks.txt");
    REQUIRE(file);
    std::string name, block_hex, value_hex;
    std::int64_t n = 0;
    int formats = 0;
    while (file >> name >> n >> block_hex >> value_hex) {
        for (const DType t : test::all_formats()) {
            if (dtype_info(t).name != name) continue;
            ++formats;
            const auto blocks = from_hex(block_hex), values = from_hex(value_hex);
            REQUIRE(static_cast<std::int64_t>(blocks.size()) == row_bytes(t, n));
            REQUIRE(values.size() == static_cast<std::size_t>(n) * 4);
            std::vector<float> out(static_cast<std::size_t>(n));
            dequantize_row(t, blocks.data(), out.data(), n);
            INFO(name);
            for (std::size_t i = 0; i < out.size(); ++i) {
                float expected;
                std::memcpy(&expected, values.data() + 4 * i, 4);
                INFO("element " << i);
                // -0 from d * 0 with a negative scale is the same value
                if (expected == 0.0f) {
                    CHECK(out[i] == 0.0f);
                } else {
                    CHECK(std::memcmp(&out[i], &expected, 4) == 0);
                }
            }
        }
    }
    CHECK(formats == kNumDTypes - 1);  // F32 needs no golden value
}

TEST_CASE("half conversion rounds to nearest even and survives a round trip", "[kernel][quant]") {
    for (std::uint32_t h = 0; h < 0x10000u; ++h) {
        const auto half = static_cast<std::uint16_t>(h);
        const float f = half_to_float(half);
        if (std::isnan(f)) continue;
        if (float_to_half(f) != half) FAIL("half " << h);
        if ((h & 0x7fffu) >= 0x7bffu) continue;
        const float up = half_to_float(static_cast<std::uint16_t>(h + 1));
        const float middle = (f + up) * 0.5f;
        const std::uint16_t even = (h & 1u) ? static_cast<std::uint16_t>(h + 1) : half;
        if (float_to_half(middle) != even) FAIL("middle above " << h);
        if (float_to_half(std::nextafter(middle, f)) != half) FAIL("below the middle above " << h);
    }
    CHECK(float_to_half(65519.0f) == 0x7bff);
    CHECK(float_to_half(65520.0f) == 0x7c00);
}
