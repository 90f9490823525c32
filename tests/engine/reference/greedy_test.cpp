// Real models against the float64 oracle: tests/golden/reference/README.md says where the numbers
// and the thresholds come from.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "engine/inspect.h"
#include "tests/support/reference.h"

namespace hearth {
namespace {

using nlohmann::json;

struct Case {
    const char* reference;
    const char* file;
    float threshold;                                      // margins from here on must not flip
    int steps_above;                                      // how many steps of the data reach it
    double margin_p50, margin_p99, top10_p50, top10_p99;  // llama.cpp's errors, the bound
};

const Case kCases[] = {
    {"smollm2", "smollm2-135m-q4_1.gguf", 0.75f, 304, 0.08, 0.45, 0.26, 1.04},
    {"gemma3", "gemma3-270m-q4_k_m.gguf", 0.75f, 325, 0.12, 0.70, 0.40, 1.06},
    {"qwen2", "qwen2.5-coder-0.5b-q4_k_m.gguf", 0.35f, 390, 0.05, 0.23, 0.12, 0.33},
};

double quantile(std::vector<double> v, double q) {
    std::sort(v.begin(), v.end());
    return v[static_cast<std::size_t>(q * static_cast<double>(v.size() - 1))];
}

/// Errors of one model over all its prompts.
struct Errors {
    std::vector<double> margin, top10;
    int above = 0;
    std::vector<std::string> flips;
};

void compare(const json& line, const inspect::ForcedResult& got, float threshold, Errors& e) {
    const auto& tokens = line.at("tokens");
    const auto& margins = line.at("margins");
    REQUIRE(got.steps.size() == tokens.size());
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        const double margin = margins[i].get<double>();
        const bool same = got.steps[i].top1 == tokens[i].get<int>();
        e.margin.push_back(std::abs(margin - (same ? got.steps[i].margin : -got.steps[i].margin)));
        if (margin < static_cast<double>(threshold)) continue;
        ++e.above;
        if (!same) {
            e.flips.push_back(line.at("name").get<std::string>() + " step " + std::to_string(i) +
                              " margin " + std::to_string(margin));
        }
    }
    for (const auto& [id, logit] : got.top10) {
        for (const auto& expected : line.at("top10")) {
            if (expected[0].get<int>() == id) {
                e.top10.push_back(std::abs(expected[1].get<double>() - static_cast<double>(logit)));
            }
        }
    }
}

}  // namespace

TEST_CASE("teacher-forced greedy tokens equal the oracle's wherever its margin is clear",
          "[reference][greedy]") {
    const Case c = GENERATE(from_range(std::begin(kCases), std::end(kCases)));
    CAPTURE(c.reference);
    const json data =
        json::parse(test::read_file(test::reference_dir() + "/greedy/" + c.reference + ".json"));
    Errors e;
    for (const auto& line : data) {
        const auto got = inspect::teacher_forced(
            test::model_path(c.file), line.at("ids").get<std::vector<std::int32_t>>(),
            line.at("tokens").get<std::vector<std::int32_t>>(), {});
        if (!got) FAIL(got.error().what);
        compare(line, *got, c.threshold, e);
    }
    std::printf(
        "%-8s margin error p50 %.3f p90 %.3f p99 %.3f max %.3f; top-10 error p50 %.3f p90 "
        "%.3f p99 %.3f max %.3f (%zu steps, %d clear)\n",
        c.reference, quantile(e.margin, .5), quantile(e.margin, .9), quantile(e.margin, .99),
        quantile(e.margin, 1), quantile(e.top10, .5), quantile(e.top10, .9), quantile(e.top10, .99),
        quantile(e.top10, 1), e.margin.size(), e.above);
    for (const std::string& flip : e.flips) UNSCOPED_INFO(flip);
    CHECK(e.flips.empty());
    CHECK(e.above == c.steps_above);
    // 432 steps, not the 573 positions of the table: a tenth of slack on its quantiles.
    CHECK(quantile(e.margin, .5) <= c.margin_p50 * 1.15 + 0.005);
    CHECK(quantile(e.top10, .5) <= c.top10_p50 * 1.15);
    CHECK(quantile(e.margin, .99) <= c.margin_p99 * 1.15);
    CHECK(quantile(e.top10, .99) <= c.top10_p99 * 1.15);
}

TEST_CASE("mean NLL of the reference texts is the oracle's within the bound", "[reference][nll]") {
    const Case c = GENERATE(from_range(std::begin(kCases), std::end(kCases)));
    const double bound = std::string(c.reference) == "gemma3" ? 0.012 : 0.005;
    const json data =
        json::parse(test::read_file(test::reference_dir() + "/nll/" + c.reference + ".json"));
    for (const auto& line : data) {
        const auto got = inspect::nll_ids(test::model_path(c.file),
                                          line.at("ids").get<std::vector<std::int32_t>>(), {});
        if (!got) FAIL(got.error().what);
        const double oracle = line.at("mean_nll").get<double>();
        std::printf("%-8s %-12s mean NLL %.6f, oracle %.6f: %+.3f %%\n", c.reference,
                    line.at("text").get<std::string>().c_str(), got->mean_nll, oracle,
                    (got->mean_nll / oracle - 1) * 100);
        CHECK(std::abs(got->mean_nll - oracle) <= bound * oracle);
    }
}

TEST_CASE("law 1: logits do not depend on chunks, threads, companions or pages",
          "[reference][law1]") {
    const Case c = GENERATE(from_range(std::begin(kCases), std::end(kCases)));
    CAPTURE(c.reference);
    const json data =
        json::parse(test::read_file(test::reference_dir() + "/nll/" + c.reference + ".json"));
    auto ids = data[0].at("ids").get<std::vector<std::int32_t>>();
    ids.resize(std::min<std::size_t>(ids.size(), std::string(c.reference) == "gemma3" ? 560 : 200));
    const std::string path = test::model_path(c.file);
    const auto hash = [&](int chunk, int threads, int companions, bool permute) {
        inspect::LogitsOptions o;
        o.chunk = chunk;
        o.companions = companions;
        o.engine.n_threads = threads;
        o.engine.permute_pages = permute;
        const auto r = inspect::logits(path, ids, o);
        if (!r) FAIL(r.error().what);
        return r->hash;
    };
    const std::string whole = hash(512, 2, 0, false);
    CHECK(hash(16, 1, 0, false) == whole);
    CHECK(hash(7, 2, 0, true) == whole);
    CHECK(hash(512, 3, 2, true) == whole);
    if (test::full_run()) {
        for (const int chunk : {1, 7, 16, 512}) {
            for (const int threads : {1, 2, 3}) CHECK(hash(chunk, threads, 0, false) == whole);
        }
    } else {
        ids.resize(48);
        CHECK(hash(1, 2, 0, false) == hash(512, 1, 0, false));
    }
}

}  // namespace hearth
