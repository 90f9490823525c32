// WeightFile: access to good files, shards, the two ways of reading, identity.

#include <cstring>
#include <filesystem>

#include <catch2/catch.hpp>

#include "engine/base/mapped_file.h"
#include "engine/model/model.h"
#include "tests/support/tiny_model.h"

using namespace hearth;
using namespace hearth::test;

namespace {

struct Folder {
    std::string path;
    explicit Folder(const char* label) : path(temporary_folder(label)) {}
    ~Folder() { std::filesystem::remove_all(path); }
    std::string operator/(const std::string& name) const { return path + "/" + name; }
};

std::string error_of(const Result<std::shared_ptr<WeightFile>>& r) {
    return r ? "" : r.error().what;
}

std::string shard_name(int i, int n) { return fmt::format("tiny-{:05}-of-{:05}.gguf", i, n); }

/// Cuts the tiny model into `n` files; `change` may spoil one of them.
void write_shards(const Folder& folder, int n,
                  const std::function<void(int, GgufWriter&)>& change = {}) {
    const GgufWriter whole = tiny_writer({});
    const std::size_t total = whole.tensors.size();
    for (int i = 0; i < n; ++i) {
        GgufWriter part;
        if (i == 0) part.keys = whole.keys;
        part.set("split.no", GgufValue::u16(static_cast<std::uint16_t>(i)));
        part.set("split.count", GgufValue::u16(static_cast<std::uint16_t>(n)));
        part.set("split.tensors.count", GgufValue::i32(static_cast<std::int32_t>(total)));
        const auto each = (total + static_cast<std::size_t>(n) - 1) / static_cast<std::size_t>(n);
        for (std::size_t t = each * static_cast<std::size_t>(i);
             t < std::min(total, each * static_cast<std::size_t>(i + 1)); ++t) {
            part.tensors.push_back(whole.tensors[t]);
        }
        if (change) change(i, part);
        write_file(folder / shard_name(i + 1, n), part.build());
    }
}

}  // namespace

TEST_CASE("Keys convert to the type that is asked for, or say what they are", "[model]") {
    GgufWriter w = tiny_writer({});
    w.set("k.u8", GgufValue::u8(200));
    w.set("k.i32", GgufValue::i32(-7));
    w.set("k.u64", GgufValue::u64(~std::uint64_t{0}));
    w.set("k.f32", GgufValue::f32(0.5f));
    w.set("k.bools", GgufValue::bools({true, false, true}));
    w.set("k.ints", GgufValue::i32s({1, -2, 3}));
    w.set("k.texts", GgufValue::texts({"a", "", "c\nd"}));
    const Bytes bytes = w.build();
    const auto f = WeightFile::parse(bytes, "keys");
    REQUIRE(f);
    const WeightFile& file = **f;
    CHECK(**file.get_int("k.u8") == 200);
    CHECK(**file.get_int("k.i32") == -7);
    CHECK(**file.get_float("k.i32") == -7.0);
    CHECK(**file.get_float("k.f32") == 0.5);
    CHECK(**file.get_ints("k.bools") == std::vector<std::int64_t>{1, 0, 1});
    CHECK(**file.get_ints("k.ints") == std::vector<std::int64_t>{1, -2, 3});
    CHECK(**file.get_floats("k.ints") == std::vector<double>{1, -2, 3});
    CHECK(**file.get_strings("k.texts") == std::vector<std::string>{"a", "", "c\nd"});
    CHECK_FALSE(file.get_int("k.none")->has_value());
    CHECK_FALSE(file.get_strings("k.none")->has_value());
    CHECK(file.get_int("k.u64").error().what ==
          "keys: key 'k.u64' is 18446744073709551615, too large for an integer");
    CHECK(file.get_int("k.f32").error().what ==
          "keys: key 'k.f32' is a number with a fraction, expected an integer");
    CHECK(file.get_string("k.texts").error().what ==
          "keys: key 'k.texts' is an array whose elements are each a string, expected a string");
    CHECK_FALSE(file.get_ints("k.i32"));
    CHECK_FALSE(file.get_strings("k.ints"));
    CHECK_FALSE(file.get_bool("k.u8"));

    const auto list = file.describe();
    CHECK(list.size() == w.keys.size());
    CHECK(list.front() == std::pair<std::string, std::string>("general.architecture", "llama"));
    CHECK(list.back().second == "[3 elements, each a string]");
}

TEST_CASE("Tensors lie where the file says, rows as outputs", "[model]") {
    TinyOptions o;
    const Bytes bytes = tiny_model(o);
    const auto f = WeightFile::parse(bytes, "tensors");
    REQUIRE(f);
    const TensorInfo* t = (*f)->find("blk.1.ffn_down.weight");
    REQUIRE(t);
    CHECK(t->view.rows == o.hidden_size);
    CHECK(t->view.cols == o.intermediate_size);
    CHECK(t->shape == std::vector<std::int64_t>{96, 64});
    GgufWriter w = tiny_writer(o);
    const Bytes& expected = w.tensor("blk.1.ffn_down.weight")->data;
    CHECK(std::memcmp(t->view.data, expected.data(), expected.size()) == 0);
    CHECK((*f)->find("blk.2.ffn_down.weight") == nullptr);
    CHECK((*f)->tensors().size() == w.tensors.size());
    CHECK((*f)->file_bytes() == static_cast<std::int64_t>(bytes.size()));
}

TEST_CASE("Versions 2 and 3, any alignment, no key of it", "[model]") {
    GgufWriter w = tiny_writer({});
    SECTION("version 2") { w.version = 2; }
    SECTION("no alignment key") { w.erase("general.alignment"); }
    SECTION("alignment 8") {
        w.alignment = 8;
        w.set("general.alignment", GgufValue::u32(8));
    }
    SECTION("alignment 4096") {
        w.alignment = 4096;
        w.set("general.alignment", GgufValue::u32(4096));
    }
    SECTION("the last tensor without padding") {
        w.tensors.push_back({"rope_freqs.weight", {8}, 0, w.tensors.back().data});
        w.tensors.back().data.resize(32);
        w.alignment = 64;
        w.set("general.alignment", GgufValue::u32(64));
    }
    Bytes bytes = w.build();
    while (bytes.back() == 0) bytes.pop_back();
    bytes.resize((bytes.size() + 3) / 4 * 4);
    const auto f = WeightFile::parse(bytes, "aligned");
    INFO(error_of(f));
    REQUIRE(f);
    CHECK(Model::from_file(*f));
}

TEST_CASE("A vocabulary-only file tokenizes and says why it cannot generate", "[model]") {
    GgufWriter w = tiny_writer({});
    w.tensors.clear();
    const Bytes bytes = w.build();
    const auto f = WeightFile::parse(bytes, "vocabulary.gguf");
    REQUIRE(f);
    const auto vocabulary = (*f)->vocabulary();
    REQUIRE(vocabulary);
    CHECK(vocabulary->tokens.size() == kTinyVocabularySize);
    CHECK(vocabulary->bos == 1);
    CHECK(vocabulary->add_bos == false);
    CHECK_FALSE(vocabulary->eot);
    CHECK(Tokenizer::make(*vocabulary));
    CHECK((*f)->chat_template().value() == kTinyChatTemplate);
    const auto model = Model::from_file(*f);
    REQUIRE_FALSE(model);
    CHECK(model.error().what.find("it can tokenize but not generate") != std::string::npos);
}

TEST_CASE("An id of -1 in any width means that there is no such token", "[model]") {
    GgufWriter w = tiny_writer({});
    w.set("tokenizer.ggml.padding_token_id", GgufValue::u32(0xffffffff));
    w.set("tokenizer.ggml.eot_token_id", GgufValue::i32(-1));
    const Bytes bytes = w.build();
    const auto vocabulary = (*WeightFile::parse(bytes, "v"))->vocabulary();
    REQUIRE(vocabulary);
    CHECK_FALSE(vocabulary->pad);
    CHECK_FALSE(vocabulary->eot);
}

TEST_CASE("Both tiny vocabularies make tokenizers that round-trip", "[model]") {
    TinyOptions o;
    o.vocabulary = GENERATE(TinyVocabulary::bpe, TinyVocabulary::spm);
    const Bytes bytes = tiny_model(o);
    const auto model = Model::from_file(*WeightFile::parse(bytes, "tiny"));
    INFO((model ? "" : model.error().what));
    REQUIRE(model);
    const Tokenizer& t = *(*model)->tokenizer;
    const std::string text = "Hello the assistant, \xe4\xbd\xa0 and more";
    const auto ids = t.encode(text, false);
    CHECK(ids.size() < text.size());
    CHECK(t.decode(ids) == text);
    CHECK(t.find("<|im_end|>").has_value());
    CHECK(t.encode("<|im_end|>", true).size() <= 2);
    CHECK((*model)->chat_template == kTinyChatTemplate);
    CHECK((*model)->weight_bytes() > 100000);
    CHECK((*model)->kv_bytes_per_token(DType::f16) == 2 * 2 * 2 * 16 * 2);
}

TEST_CASE("Any shard of a split model is an entry point", "[model][shards]") {
    const Folder folder("shards");
    const int n = GENERATE(2, 3, 7);
    write_shards(folder, n);
    const Bytes whole = tiny_model({});
    const auto expected = WeightFile::parse(whole, "whole");
    for (int i = 1; i <= n; ++i) {
        const auto f = WeightFile::open(folder / shard_name(i, n));
        INFO(error_of(f));
        REQUIRE(f);
        CHECK((*f)->path() == folder / shard_name(1, n));
        REQUIRE((*f)->tensors().size() == (*expected)->tensors().size());
        for (const TensorInfo& t : (*expected)->tensors()) {
            const TensorInfo* found = (*f)->find(t.name);
            REQUIRE(found);
            REQUIRE(found->view.bytes() == t.view.bytes());
            CHECK(std::memcmp(found->view.data, t.view.data,
                              static_cast<std::size_t>(t.view.bytes())) == 0);
        }
        CHECK(Model::from_file(*f));
    }
}

TEST_CASE("Shards that are missing or disagree are named", "[model][shards]") {
    const Folder folder("bad-shards");
    const auto opened = [&](int i) {
        return error_of(WeightFile::open(folder / shard_name(i, 3)));
    };
    const auto has = [](const std::string& text, const std::string& part) {
        INFO(text);
        return text.find(part) != std::string::npos;
    };
    SECTION("missing") {
        write_shards(folder, 3);
        std::filesystem::remove(folder / shard_name(2, 3));
        CHECK(has(opened(1), "part 2 of 3 is missing: expected " + (folder / shard_name(2, 3))));
        CHECK(has(opened(3), "part 2 of 3 is missing"));
    }
    SECTION("incomplete") {
        write_shards(folder, 3);
        std::filesystem::resize_file(folder / shard_name(3, 3), 5000);
        CHECK(has(opened(1), shard_name(3, 3) + ": file is incomplete: 5000 of "));
    }
    SECTION("renamed") {
        write_shards(folder, 3);
        std::filesystem::rename(folder / shard_name(1, 3), folder / "model.gguf");
        CHECK(has(error_of(WeightFile::open(folder / "model.gguf")),
                  "is part 1 of 3, whose others are found by name: expected a name that ends in "
                  "-00001-of-00003.gguf"));
    }
    SECTION("a name of four digits") {
        write_shards(folder, 3);
        std::filesystem::rename(folder / shard_name(1, 3), folder / "tiny-0001-of-0003.gguf");
        CHECK(has(error_of(WeightFile::open(folder / "tiny-0001-of-0003.gguf")), "found by name"));
    }
    SECTION("the name's total differs") {
        write_shards(folder, 3);
        std::filesystem::rename(folder / shard_name(1, 3), folder / shard_name(1, 4));
        CHECK(has(error_of(WeightFile::open(folder / shard_name(1, 4))),
                  "its name says part 1 of 4, its split.count is 3"));
    }
    SECTION("two parts exchanged") {
        write_shards(folder, 3);
        std::filesystem::rename(folder / shard_name(2, 3), folder / "x");
        std::filesystem::rename(folder / shard_name(3, 3), folder / shard_name(2, 3));
        std::filesystem::rename(folder / "x", folder / shard_name(3, 3));
        CHECK(has(opened(1), "split.no is 2, expected 1"));
    }
    SECTION("a tensor too few") {
        write_shards(folder, 3, [](int i, GgufWriter& w) {
            if (i == 1) w.tensors.pop_back();
        });
        CHECK(has(opened(1), "hold 19 tensors, expected 20"));
    }
    SECTION("a tensor in two parts") {
        write_shards(folder, 3, [](int i, GgufWriter& w) {
            if (i == 1) w.tensors.back().name = "token_embd.weight";
        });
        CHECK(has(opened(1), "holds a tensor that an earlier part holds too"));
    }
    SECTION("another count") {
        write_shards(folder, 3, [](int i, GgufWriter& w) {
            if (i == 2) w.set("split.count", GgufValue::u16(2));
        });
        CHECK(has(opened(1), "split.count is 2, expected 3"));
    }
    SECTION("an absurd count") {
        write_shards(folder, 3, [](int i, GgufWriter& w) {
            if (i == 0) w.set("split.count", GgufValue::i32(-1));
        });
        CHECK(has(opened(1), "split.count is"));
    }
}

TEST_CASE("Paths that cannot be opened say why", "[model]") {
    const Folder folder("paths");
    const auto missing = WeightFile::open(folder / "none.gguf");
    REQUIRE_FALSE(missing);
    CHECK(missing.error().code == Errc::model_not_found);
    const auto directory = WeightFile::open(folder.path);
    REQUIRE_FALSE(directory);
    CHECK(directory.error().code == Errc::model_invalid);
    CHECK(directory.error().what.find("is a folder") != std::string::npos);
    write_file(folder / "empty.gguf", {});
    const auto empty = WeightFile::open(folder / "empty.gguf");
    REQUIRE_FALSE(empty);
    CHECK(empty.error().code == Errc::model_invalid);
}

TEST_CASE("A file reads alike mapped and buffered, and tells when it changed", "[model]") {
    const Folder folder("mapped");
    const std::string path = folder / "tiny.gguf";
    const Bytes bytes = tiny_model({});
    write_file(path, bytes);
    const auto mode = GENERATE(MappedFile::Mode::map, MappedFile::Mode::read);
    auto file = MappedFile::open(path, mode);
    REQUIRE(file);
    CHECK(file->is_mapped() == (mode == MappedFile::Mode::map));
    CHECK(std::equal(bytes.begin(), bytes.end(), file->bytes().begin(), file->bytes().end()));
    CHECK(file->is_unchanged());
    const MappedFile moved = std::move(*file);
    CHECK(moved.bytes().size() == bytes.size());
    CHECK(file->bytes().empty());
    std::filesystem::resize_file(path, 100);
    CHECK_FALSE(moved.is_unchanged());
}

TEST_CASE("The content hash tells models apart and is stable", "[model]") {
    const Bytes a = tiny_model({});
    const auto hash = [](const Bytes& b) { return (*WeightFile::parse(b, "x"))->content_hash(); };
    CHECK(hash(a) == hash(a));
    CHECK(hash(a).size() == 32);
    TinyOptions other;
    other.seed = 2;
    CHECK(hash(a) != hash(tiny_model(other)));
    GgufWriter w = tiny_writer({});
    w.set("llama.rope.freq_base", GgufValue::f32(20000));
    CHECK(hash(a) != hash(w.build()));
    // Where the file lies does not matter, nor what it is called.
    const Folder folder("hash");
    write_file(folder / "one.gguf", a);
    CHECK((*WeightFile::open(folder / "one.gguf"))->content_hash() == hash(a));
}
