// Finding and naming models, in trees laid out as the other programs do.
#include "engine/models/models.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/models/gguf_name.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;

/// A folder that is gone at the end of the test.
class Tree {
  public:
    Tree() {
        std::string pattern = (fs::temp_directory_path() / "hearth-models-XXXXXX").string();
        REQUIRE(::mkdtemp(pattern.data()) != nullptr);
        root_ = pattern;
    }
    ~Tree() {
        std::error_code ignored;
        fs::remove_all(root_, ignored);
    }
    std::string file(const std::string& path, const std::string& content = "GGUF....") {
        const fs::path full = fs::path(root_) / path;
        fs::create_directories(full.parent_path());
        std::ofstream(full, std::ios::binary) << content;
        return full.string();
    }
    void link(const std::string& path, const std::string& target) {
        const fs::path full = fs::path(root_) / path;
        fs::create_directories(full.parent_path());
        fs::create_symlink(target, full);
    }
    std::string at(const std::string& path) const { return root_ + "/" + path; }

  private:
    std::string root_;
};

std::vector<std::string> names(const std::vector<FoundModel>& found) {
    std::vector<std::string> all;
    for (const FoundModel& model : found) all.push_back(model.name);
    std::sort(all.begin(), all.end());
    return all;
}

const std::string kDigest(64, 'a');
std::string manifest(const std::string& digest, const std::string& type = "model") {
    return R"({"schemaVersion":2,"layers":[{"mediaType":"application/vnd.ollama.image.template",)"
           R"("digest":"sha256:0"},{"mediaType":"application/vnd.ollama.image.)" +
           type + R"(","digest":"sha256:)" + digest + R"(","size":8}]})";
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("own folders are read down to a limit; torsos are not models", "[models]") {
    Tree tree;
    tree.file("own/tiny-q4_1.gguf", "GGUF1234");
    tree.file("own/UPPER.GGUF");
    tree.file("own/deep/er/other.gguf");
    tree.file("own/1/2/3/4/5/6/7/too-deep.gguf");
    tree.file("own/half.gguf.part");
    tree.file("own/half.gguf.incomplete");
    tree.file("own/empty.gguf", "");
    tree.file("own/mmproj-tiny-f16.gguf");
    tree.file("own/tiny-MMPROJ.gguf");
    tree.file("own/.hidden.gguf");
    tree.file("own/readme.txt");
    tree.link("own/broken.gguf", "nowhere");
    tree.link("own/deep/ring", "..");
    Names notes;
    const auto found = find_models({{tree.at("own"), tree.at("missing")}, {}, {}, {}, {}}, &notes);
    CHECK(names(found) == Names{"UPPER", "other", "tiny-q4_1"});
    CHECK(notes.empty());
    for (const FoundModel& model : found) {
        CHECK(model.origin == "hearth");
        CHECK(model.bytes == 8);
        CHECK(model.modified_ms > 1'500'000'000'000);
    }
}

TEST_CASE("a place may be a file", "[models]") {
    Tree tree;
    const std::string path = tree.file("own/tiny.gguf");
    const auto found = find_models({{path}, {}, {}, {}, {}}, nullptr);
    REQUIRE(found.size() == 1);
    CHECK(found[0].path == path);
}

TEST_CASE("a split model counts once, with the bytes of all parts", "[models]") {
    Tree tree;
    tree.file("own/big-00001-of-00003.gguf", "GGUF");
    tree.file("own/big-00002-of-00003.gguf", "GGUF5");
    tree.file("own/big-00003-of-00003.gguf", "GGUF56");
    tree.file("own/torso-00001-of-00002.gguf");
    tree.file("own/headless-00002-of-00002.gguf");
    Names notes;
    const ModelPlaces places{{tree.at("own")}, {}, {}, {}, {}};
    const auto found = find_models(places, &notes);
    REQUIRE(names(found) == Names{"big"});
    CHECK(found[0].bytes == 15);
    CHECK(found[0].path == tree.at("own/big-00001-of-00003.gguf"));
    REQUIRE(notes.size() == 2);
    CHECK_THAT(notes[0] + notes[1], Catch::Contains("torso-00002-of-00002.gguf is missing"));
    CHECK_THAT(notes[0] + notes[1], Catch::Contains("headless"));

    const auto by_part = resolve_model(tree.at("own/big-00002-of-00003.gguf"), places);
    REQUIRE(by_part);
    CHECK(by_part->path == tree.at("own/big-00001-of-00003.gguf"));
    CHECK(by_part->bytes == 15);
    CHECK(resolve_model("big-00001-of-00003.gguf", places)->bytes == 15);
    const auto torso = resolve_model(tree.at("own/torso-00001-of-00002.gguf"), places);
    REQUIRE(!torso);
    CHECK_THAT(torso.error().what, Catch::Contains("part 1 of 2"));
}

TEST_CASE("Ollama: manifests lead to blobs", "[models]") {
    Tree tree;
    const std::string library = "ollama/manifests/registry.ollama.ai/library/";
    tree.file("ollama/blobs/sha256-" + kDigest);
    tree.file("ollama/blobs/sha256-" + std::string(64, 'b'));
    tree.file("ollama/blobs/sha256-" + std::string(64, 'c'), "{\"safetensors\"");
    tree.file(library + "llama3.2/latest", manifest(kDigest));
    tree.file(library + "llama3.2/1b", manifest(kDigest));
    tree.file("ollama/manifests/hf.co/org/repo/Q4_K_M", manifest(std::string(64, 'b')));
    tree.file(library + "bad/json", "{\"layers\":[");
    tree.file(library + "bad/types", R"({"layers":[1,{"mediaType":2,"digest":3}]})");
    tree.file(library + "bad/escape", manifest("../../../../etc/passwd"));
    tree.file(library + "bad/gone", manifest(std::string(64, 'd')));
    tree.file(library + "bad/format", manifest(std::string(64, 'c')));
    tree.file(library + "bad/projector", manifest(kDigest, "projector"));
    tree.file(library + ".DS_Store", "x");
    Names notes;
    const ModelPlaces places{{}, {tree.at("ollama")}, {}, {}, {}};
    const auto found = find_models(places, &notes);
    CHECK(names(found) == Names{"hf.co/org/repo:Q4_K_M", "llama3.2:1b"});
    CHECK(notes.size() == 6);

    const std::string blob = tree.at("ollama/blobs/sha256-" + kDigest);
    for (const char* name :
         {"llama3.2", "llama3.2:latest", "llama3.2:1b", "LLAMA3.2:1B", "llama3.2:1"})
        CHECK(resolve_model(name, places).value_or(FoundModel{}).path == blob);
    CHECK(resolve_model("hf.co/org/repo:q4_k_m", places));
}

TEST_CASE("LM Studio, hub and llama.cpp caches", "[models]") {
    Tree tree;
    tree.file("lms/pub/Tiny-GGUF/tiny-Q4_K_M.gguf");
    tree.file("lms/pub/Tiny-GGUF/tiny-Q8_0.gguf");
    tree.file("lms/pub/Tiny-GGUF/mmproj-f16.gguf");
    tree.file("hub/models--org--Repo-GGUF/blobs/123");
    tree.file("hub/models--org--Repo-GGUF/refs/main", "new\n");
    tree.link("hub/models--org--Repo-GGUF/snapshots/new/repo-q5_0.gguf", "../../blobs/123");
    tree.link("hub/models--org--Repo-GGUF/snapshots/new/UD/lost.gguf", "../../../blobs/404");
    tree.link("hub/models--org--Repo-GGUF/snapshots/old/repo-q5_0.gguf", "../../blobs/123");
    tree.file("hub/datasets--org--data/snapshots/x/not.gguf");
    tree.file("cache/ggml-org_gemma-GGUF_gemma-Q4_0.gguf");
    tree.file("cache/ggml-org_gemma-GGUF_gemma-Q4_0.gguf.json", "{}");
    tree.file("cache/manifest=ggml-org=gemma-GGUF=Q4_0.json", "{}");
    tree.file("cache/x_y_z-F16.gguf");
    tree.file("cache/loading.gguf.downloadInProgress");
    const ModelPlaces places{{}, {}, {tree.at("lms/")}, {tree.at("hub")}, {tree.at("cache")}};
    const auto found = find_models(places, nullptr);
    CHECK(names(found) == Names{"ggml-org/gemma-GGUF:Q4_0", "org/Repo-GGUF:Q5_0",
                                "pub/Tiny-GGUF:Q4_K_M", "pub/Tiny-GGUF:Q8_0", "x_y_z-F16"});
    // The link is the path: what it points to has no telling name.
    CHECK(resolve_model("org/repo-gguf", places)->path ==
          tree.at("hub/models--org--Repo-GGUF/snapshots/new/repo-q5_0.gguf"));
    CHECK(resolve_model("tiny-q8_0.gguf", places)->name == "pub/Tiny-GGUF:Q8_0");
    CHECK(resolve_model("pub/tiny-gguf:q8", places)->name == "pub/Tiny-GGUF:Q8_0");
    CHECK(resolve_model("gemma", places)->origin == "llama.cpp");

    const auto several = resolve_model("pub/Tiny-GGUF", places);
    REQUIRE(!several);
    CHECK(several.error().code == Errc::model_not_found);
    CHECK_THAT(several.error().what,
               Catch::Contains("pub/Tiny-GGUF:Q4_K_M") && Catch::Contains("pub/Tiny-GGUF:Q8_0"));
}

TEST_CASE("one file is one model, however many ways lead to it", "[models]") {
    Tree tree;
    const std::string path = tree.file("own/tiny.gguf");
    fs::create_directories(tree.at("lms/p/r"));
    fs::create_hard_link(path, tree.at("lms/p/r/tiny-Q4_0.gguf"));
    tree.link("own/alias.gguf", path);
    const ModelPlaces places{{tree.at("own")}, {}, {tree.at("lms")}, {}, {}};
    const auto found = find_models(places, nullptr);
    REQUIRE(found.size() == 1);
    for (const char* name : {"alias", "tiny", "p/r:Q4_0", "p/r"})
        CHECK(resolve_model(name, places));
}

TEST_CASE("equal names: the earlier place wins, the other keeps a longer name", "[models]") {
    Tree tree;
    tree.file("own/a/tiny.gguf");
    tree.file("own/b/tiny.gguf");
    const ModelPlaces places{{tree.at("own")}, {}, {}, {}, {}};
    CHECK(names(find_models(places, nullptr)) == Names{"b/tiny", "tiny"});
    CHECK(resolve_model("tiny", places)->path == tree.at("own/a/tiny.gguf"));
    CHECK(resolve_model("B/Tiny.gguf", places)->path == tree.at("own/b/tiny.gguf"));
}

TEST_CASE("names: exact, prefix, ambiguous, unknown", "[models]") {
    Tree tree;
    tree.file("own/qwen2.5-coder-0.5b-q4_k_m.gguf");
    tree.file("own/qwen2.5-coder-1.5b-q4_k_m.gguf");
    tree.file("own/qwen.gguf");
    tree.file("own/smollm2-135m-q4_1.gguf");
    const ModelPlaces places{{tree.at("own")}, {}, {}, {}, {}};
    CHECK(resolve_model("QWEN", places)->name == "qwen");  // exact before prefix
    CHECK(resolve_model("smol", places)->name == "smollm2-135m-q4_1");
    CHECK(resolve_model("qwen2.5-coder-0", places)->name == "qwen2.5-coder-0.5b-q4_k_m");

    const auto ambiguous = resolve_model("qwen2.5-coder", places);
    REQUIRE(!ambiguous);
    CHECK(exit_code(ambiguous.error().code) == 3);
    CHECK_THAT(ambiguous.error().what, Catch::Contains("0.5b") && Catch::Contains("1.5b"));

    const auto typo = resolve_model("smolm2-135m", places);
    REQUIRE(!typo);
    CHECK(exit_code(typo.error().code) == 3);
    CHECK_THAT(typo.error().what, Catch::Contains("Did you mean smollm2-135m-q4_1?") &&
                                      Catch::Contains(tree.at("own")));
    const auto strange = resolve_model("mistral-large", places);
    REQUIRE(!strange);
    CHECK_THAT(strange.error().what,
               !Catch::Contains("Did you mean") && Catch::Contains("hearth ls"));
    CHECK_THAT(resolve_model("x", {}).error().what, Catch::Contains("no model was found"));
    CHECK(!resolve_model("", places));

    CHECK(resolve_model(tree.at("own/qwen.gguf"), {})->origin == "path");
    CHECK_THAT(resolve_model(tree.at("own/none.gguf"), places).error().what,
               Catch::Contains("There is no file"));
    CHECK_THAT(resolve_model(tree.at("own"), places).error().what, Catch::Contains("is a folder"));
}

TEST_CASE("a folder that cannot be read is noted once", "[models]") {
    Tree tree;
    tree.file("own/tiny.gguf");
    tree.file("own/locked/other.gguf");
    REQUIRE(::chmod(tree.at("own/locked").c_str(), 0) == 0);
    Names notes;
    // The administrator may read everything, so look as somebody else.
    const bool is_root = ::geteuid() == 0;
    REQUIRE(::chmod(tree.at("").c_str(), 0755) == 0);
    if (is_root) REQUIRE(::seteuid(65534) == 0);
    const auto found = find_models({{tree.at("own"), tree.at("own")}, {}, {}, {}, {}}, &notes);
    if (is_root) REQUIRE(::seteuid(0) == 0);
    ::chmod(tree.at("own/locked").c_str(), 0700);
    CHECK(names(found) == Names{"tiny"});
    REQUIRE(notes.size() == 1);
    CHECK_THAT(notes[0], Catch::Contains("locked") && Catch::Contains("Permission denied"));
}

TEST_CASE("file names tell part and quantization", "[models]") {
    using models::parse_shard_name;
    using models::quant_of;
    CHECK(parse_shard_name("a-00002-of-00010.gguf").part == 2);
    CHECK(parse_shard_name("a-00002-of-00010.gguf").n_parts == 10);
    CHECK(parse_shard_name("a-00002-of-00010.gguf").stem == "a");
    CHECK(parse_shard_name("a-00003-of-00002.gguf").n_parts == 1);
    CHECK(parse_shard_name("a-0002-of-00010.gguf").stem == "a-0002-of-00010");
    CHECK(parse_shard_name("-00001-of-00001.gguf").n_parts == 1);
    CHECK(quant_of("smollm2-135m-q4_1") == "Q4_1");
    CHECK(quant_of("Model.Q4_K_M") == "Q4_K_M");
    CHECK(quant_of("gemma-3-1b-it-qat-IQ4_XS") == "IQ4_XS");
    CHECK(quant_of("x-BF16") == "BF16");
    CHECK(quant_of("x-f16-tuned") == "F16");
    CHECK(quant_of("my_model_q4_0") == "Q4_0");
    CHECK(quant_of("gpt-oss-20b-mxfp4") == "MXFP4");
    CHECK(quant_of("qwen3-8b").empty());
    CHECK(quant_of("").empty());
}

}  // namespace hearth
