// Which models on a machine may draft for another, with a reason for every refusal.

#include <filesystem>

#include "engine/inspect.h"
#include "tests/engine/engine_client.h"
#include "tests/support/reference.h"

namespace hearth {
namespace {

using test::tiny_path;

inspect::DraftCandidate file(const std::string& path) {
    return {path.substr(path.rfind('/') + 1),
            path,
            static_cast<std::int64_t>(std::filesystem::file_size(path)),
            0,
            {}};
}

const std::string& model(const char* name, int n_layers, std::uint64_t seed,
                         test::TinyVocabulary vocabulary = test::TinyVocabulary::bpe) {
    test::TinyOptions o;
    o.n_layers = n_layers;
    o.seed = seed;
    o.vocabulary = vocabulary;
    return tiny_path(name, o);
}

}  // namespace

TEST_CASE("every other model is listed, with the reason of a refusal", "[speculate][pairing]") {
    const std::string& target = model("candidates-target", 30, 1);
    const std::string& small = model("candidates-small", 1, 2);
    const std::string& middle = model("candidates-middle", 10, 3);
    const std::string& large = model("candidates-large", 25, 4);
    const std::string& spm = model("candidates-spm", 1, 5, test::TinyVocabulary::spm);
    const std::string broken = target + ".broken.gguf";
    test::write_file(broken, test::Bytes(100, 'x'));
    const auto found = inspect::draft_candidates(
        target, {file(large), file(broken), file(target), file(middle), file(spm), file(small)});
    REQUIRE(found);
    REQUIRE(found->size() == 5);  // without the target itself
    CHECK((*found)[0].path == small);
    CHECK((*found)[0].refusal.empty());
    CHECK((*found)[0].kv_bytes_per_token > 0);
    CHECK((*found)[1].path == middle);
    CHECK((*found)[1].refusal.empty());
    for (const inspect::DraftCandidate& c : *found) {
        if (c.path == large) CHECK(c.refusal.find("% of the model's size") != std::string::npos);
        if (c.path == spm) CHECK(c.refusal.find("different kinds") != std::string::npos);
        if (c.path == broken) CHECK_FALSE(c.refusal.empty());
    }
}

TEST_CASE("the two sizes of Qwen2.5-Coder pair", "[speculate][pairing][models]") {
    // The large one is not among the models that every run of the tests fetches.
    const std::string folder =
        std::filesystem::path(test::model_path("smollm2-135m-q4_1.gguf")).parent_path().string();
    if (!std::filesystem::exists(folder + "/qwen2.5-coder-1.5b-q4_k_m.gguf")) {
        WARN("qwen2.5-coder-1.5b is not here: its pairing is not tested");
        return;
    }
    const auto found =
        inspect::draft_candidates(test::model_path("qwen2.5-coder-1.5b-q4_k_m.gguf"),
                                  {file(test::model_path("smollm2-135m-q4_1.gguf")),
                                   file(test::model_path("qwen2.5-coder-0.5b-q4_k_m.gguf"))});
    REQUIRE(found);
    CHECK((*found)[0].name == "qwen2.5-coder-0.5b-q4_k_m.gguf");
    CHECK((*found)[0].refusal == "");
    CHECK_FALSE((*found)[1].refusal.empty());  // another vocabulary
}

}  // namespace hearth
