#pragma once
// Shared parts of the emulated card's tests: the backend on the emulator, schedules, products.

#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#ifndef HEARTH_ON_CARD
#include "kernels/cuda/simt.h"
#endif
#include "kernels/device.h"
#include "tests/kernels/device_matrix.h"
#include "tests/kernels/support.h"

namespace hearth::test {

inline std::unique_ptr<CardBackend> card() {
    std::string why;
    auto b = make_card_backend({}, why);
    INFO(why);
    REQUIRE(b != nullptr);
    return b;
}

#ifdef HEARTH_ON_CARD
/// The same tests on a real card: its own schedule, once.
template <typename Call>
void each_schedule(Call f) {
    f();
}
inline bool is_first_schedule() { return true; }
#else
/// Runs f under the forward, the reverse and one random schedule.
template <typename Call>
void each_schedule(Call f) {
    auto& config = simt::config();
    for (const auto order : {simt::Order::forward, simt::Order::reverse, simt::Order::random}) {
        config.order = order;
        config.seed = 20261130;
        INFO("schedule " << static_cast<int>(order));
        f();
    }
    config.order = simt::default_order();
}
/// What takes long is done under one schedule only.
inline bool is_first_schedule() { return simt::config().order == simt::Order::forward; }
#endif

/// y (n, M) = x (n, K) w^T on one backend, device or not.
inline std::vector<float> card_matmul(Backend& b, const TensorView& w, const std::vector<float>& x,
                                      std::int64_t n, const TensorView& bias = {},
                                      bool accumulate = false) {
    const Matrix in(b, x, n);
    const Matrix out(b, std::vector<float>(static_cast<std::size_t>(n * w.rows), -7.0f), n);
    b.begin({});
    b.matmul(out.view(), in.view(), w, bias, accumulate);
    CHECK(b.run());
    if (CardBackend* device = as_card(b)) {
        CHECK(device->failure() == "");
        device->drop_weights();  // the caller's may be gone, and its address another's
    }
    return out.read();
}

}  // namespace hearth::test
