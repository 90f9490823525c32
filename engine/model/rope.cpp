#include "engine/model/rope.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "engine/base/check.h"
#include "engine/model/families/common.h"
#include "kernels/math.h"

namespace hearth {

namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kE = 2.71828182845904523536;
constexpr double kSmallestFrequency = 1e-30;

/// Pair index at which a wavelength fits `rotations` times into the original context.
double yarn_dim(const RopeParams& p, double rotations) {
    return p.n_dims * own_log(p.original_context / (rotations * 2 * kPi)) / (2 * own_log(p.base));
}

double scaled(const RopeParams& p, double f, int i, double low, double high) {
    switch (p.scaling) {
        case RopeScaling::none:
        case RopeScaling::longrope:
            return f;
        case RopeScaling::linear:
            return f / p.factor;
        case RopeScaling::llama3: {
            const double wavelength = 2 * kPi / f;
            if (wavelength < p.original_context / p.high_freq_factor) return f;
            if (wavelength > p.original_context / p.low_freq_factor) return f / p.factor;
            const double s = (p.original_context / wavelength - p.low_freq_factor) /
                             (p.high_freq_factor - p.low_freq_factor);
            return (1 - s) * f / p.factor + s * f;
        }
        case RopeScaling::yarn: {
            const double span = std::max(0.001, high - low);
            const double ramp = std::clamp((i - low) / span, 0.0, 1.0);
            return f / p.factor * ramp + f * (1 - ramp);
        }
    }
    return f;
}

double attention_factor(const RopeParams& p) {
    if (p.attention_factor > 0) return p.attention_factor;
    const auto mscale = [&](double m) {
        return p.factor <= 1 ? 1.0 : 0.1 * m * own_log(p.factor) + 1.0;
    };
    if (p.scaling == RopeScaling::yarn) {
        return p.log_multiplier > 0 ? mscale(1) / mscale(p.log_multiplier) : mscale(1);
    }
    if (p.scaling == RopeScaling::longrope && p.max_context > p.original_context) {
        return std::sqrt(1 +
                         own_log(p.max_context / p.original_context) / own_log(p.original_context));
    }
    return 1.0;
}

}  // namespace

double own_log(double x) {
    HEARTH_CHECK(x > 0 && std::isfinite(x));
    int exponent = 0;
    const double m = std::frexp(x, &exponent);  // exact
    // Halley's iteration on e^y = m, from the chord of [0.5, 1); |y| < 0.7.
    double y = 2 * (m - 1) * 0.6931471805599453;
    for (int i = 0; i < 4; ++i) {
        const double e = own_pow(kE, y);
        y += 2 * (m - e) / (m + e);
    }
    return y + exponent * 0.6931471805599453;
}

RopeSpec make_rope(const RopeParams& p) {
    HEARTH_CHECK(p.n_dims > 0 && p.n_dims % 2 == 0);
    HEARTH_CHECK(p.divisors.empty() || p.divisors.size() * 2 == static_cast<std::size_t>(p.n_dims));
    double low = 0;
    double high = 0;
    if (p.scaling == RopeScaling::yarn) {
        low = std::max(std::floor(yarn_dim(p, p.beta_fast)), 0.0);
        high = std::min(std::ceil(yarn_dim(p, p.beta_slow)), p.n_dims - 1.0);
    }
    RopeSpec out;
    out.pairing = p.pairing;
    out.n_dims = p.n_dims;
    out.magnitude = static_cast<float>(attention_factor(p));
    for (int i = 0; i < p.n_dims / 2; ++i) {
        double f = own_pow(p.base, -2.0 * i / p.n_dims);
        f = scaled(p, f, i, low, high);
        if (!p.divisors.empty()) f /= p.divisors[static_cast<std::size_t>(i)];
        out.inv_freq.push_back(f < kSmallestFrequency ? 0.0 : f);
    }
    return out;
}

namespace {

Result<RopeScaling> scaling_type(const Keys& keys) {
    HEARTH_TRY(const auto text, keys.file().get_string(keys.name("rope.scaling.type")));
    if (!text || text->empty() || *text == "none") {
        // Files of Phi-3 carry the two lists and no type; old ones of Llama a factor and no type.
        if (keys.file().find("rope_factors_long.weight") != nullptr) return RopeScaling::longrope;
        const bool old_key = keys.file().find_key(keys.name("rope.scale_linear")) != nullptr;
        return old_key && !text ? RopeScaling::linear : RopeScaling::none;
    }
    if (*text == "linear") return RopeScaling::linear;
    if (*text == "llama3") return RopeScaling::llama3;
    if (*text == "yarn") return RopeScaling::yarn;
    if (*text == "longrope" || *text == "su") return RopeScaling::longrope;
    return fail(Errc::model_invalid,
                "{}: {} is '{}', expected none, linear, llama3, yarn or longrope",
                keys.file().path(), keys.name("rope.scaling.type"), *text);
}

/// A vector of n_dims / 2 positive F32 divisors; empty when the file has none of that name.
Result<std::vector<double>> divisors(const WeightFile& file, const char* name, int n_dims) {
    const TensorInfo* t = file.find(name);
    if (t == nullptr) return std::vector<double>{};
    if (t->view.dtype != DType::f32 || t->view.rows != 1 || t->view.cols != n_dims / 2) {
        return fail(Errc::model_invalid,
                    "{}: tensor '{}' is {} with shape [{}, {}], expected F32 with shape [{}]",
                    file.path(), name, dtype_info(t->view.dtype).name, t->view.cols, t->view.rows,
                    n_dims / 2);
    }
    std::vector<double> out;
    for (std::int64_t i = 0; i < t->view.cols; ++i) {
        float v = 0;
        std::memcpy(&v, static_cast<const std::uint8_t*>(t->view.data) + i * 4, 4);
        if (!(v > 0) || !std::isfinite(v)) {
            return fail(Errc::model_invalid,
                        "{}: element {} of tensor '{}' is {}, expected a positive number",
                        file.path(), i, name, v);
        }
        out.push_back(v);
    }
    return out;
}

Result<void> check_positive(const Keys& keys, std::string_view key, double v) {
    if (v > 0 && v < 1e12) return {};
    return fail(Errc::model_invalid, "{}: {} is {}, expected a positive number", keys.file().path(),
                keys.name(key), v);
}

Result<void> read_scaling(const Keys& keys, RopeParams& p, int context_tokens) {
    HEARTH_TRY(p.scaling, scaling_type(keys));
    HEARTH_TRY(p.divisors, divisors(keys.file(), "rope_freqs.weight", p.n_dims));
    if (p.scaling == RopeScaling::none) return {};
    HEARTH_TRY(const double old_factor, keys.number("rope.scale_linear", 1.0));
    HEARTH_TRY(p.factor, keys.number("rope.scaling.factor", old_factor));
    HEARTH_TRY(p.original_context,
               keys.number("rope.scaling.original_context_length", p.max_context));
    HEARTH_TRY(p.attention_factor, keys.number("rope.scaling.attn_factor", 0));
    HEARTH_TRY(p.attention_factor,
               keys.number("rope.scaling.yarn_attn_factor", p.attention_factor));
    HEARTH_TRY(p.beta_fast, keys.number("rope.scaling.yarn_beta_fast", 32));
    HEARTH_TRY(p.beta_slow, keys.number("rope.scaling.yarn_beta_slow", 1));
    HEARTH_TRY(p.log_multiplier, keys.number("rope.scaling.yarn_log_multiplier", 0));
    HEARTH_TRY(p.low_freq_factor, keys.number("rope.scaling.low_freq_factor", 1));
    HEARTH_TRY(p.high_freq_factor, keys.number("rope.scaling.high_freq_factor", 4));
    HEARTH_TRY_VOID(check_positive(keys, "rope.scaling.factor", p.factor));
    HEARTH_TRY_VOID(check_positive(keys, "rope.scaling.yarn_beta_fast", p.beta_fast));
    HEARTH_TRY_VOID(check_positive(keys, "rope.scaling.yarn_beta_slow", p.beta_slow));
    HEARTH_TRY_VOID(
        check_positive(keys, "rope.scaling.original_context_length", p.original_context - 1));
    // llama3 files fold the factors into rope_freqs; both at once would scale twice.
    if (p.scaling == RopeScaling::llama3 && !p.divisors.empty()) p.scaling = RopeScaling::none;
    if (p.scaling != RopeScaling::longrope) return {};
    const double used = context_tokens > 0 ? context_tokens : p.max_context;
    const char* list =
        used > p.original_context ? "rope_factors_long.weight" : "rope_factors_short.weight";
    HEARTH_TRY(p.divisors, divisors(keys.file(), list, p.n_dims));
    if (p.divisors.empty()) {
        return fail(Errc::model_invalid, "{}: tensor '{}' is missing, LongRoPE needs it",
                    keys.file().path(), list);
    }
    return {};
}

}  // namespace

Result<RopeParams> read_rope(const WeightFile& file, const std::string& architecture,
                             RopePairing pairing, int head_dim, int context_length,
                             int context_tokens) {
    const Keys keys(file, architecture);
    RopeParams p;
    p.pairing = pairing;
    p.max_context = context_length;
    HEARTH_TRY(p.n_dims, keys.count("rope.dimension_count", 2, head_dim, head_dim));
    if (p.n_dims % 2 != 0) {
        return fail(Errc::model_invalid, "{}: {} is {}, expected an even number", file.path(),
                    keys.name("rope.dimension_count"), p.n_dims);
    }
    HEARTH_TRY(p.base, keys.number("rope.freq_base", 10000.0));
    HEARTH_TRY_VOID(check_positive(keys, "rope.freq_base", p.base - 1));
    HEARTH_TRY_VOID(read_scaling(keys, p, context_tokens));
    return p;
}

}  // namespace hearth
