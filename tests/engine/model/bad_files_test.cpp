// Hand-made bad files: a good tiny model with one thing spoilt. Each must be refused by opening,
// by the family or by the tokenizer's vocabulary with one sentence that names the file and the
// matter, and with the code that becomes exit code 3.

#include <cctype>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>

#include <catch2/catch.hpp>

#include "engine/base/check.h"
#include "engine/model/model.h"
#include "tests/support/tiny_model.h"

using namespace hearth;
using namespace hearth::test;

namespace {

struct BadFile {
    const char* name;
    std::function<Bytes()> make;
    const char* expected;  ///< part of the sentence
};

/// Set while the fuzzing corpus is written: a file of some 3 KB instead of 260.
bool micro = false;

GgufWriter good_writer(const std::string& family = "llama") {
    TinyOptions o;
    o.family = family;
    if (!micro) return tiny_writer(o);
    o.hidden_size = o.intermediate_size = 16;
    o.n_heads = o.n_kv_heads = 1;
    o.dtype = DType::f16;
    GgufWriter w = tiny_writer(o);
    w.set("tokenizer.ggml.tokens", GgufValue::texts({"a", "b", "c", "d"}));
    w.set("tokenizer.ggml.token_type", GgufValue::i32s({3, 3, 3, 1}));
    w.set("tokenizer.ggml.merges", GgufValue::texts({"a b"}));
    w.set("tokenizer.chat_template", GgufValue::text("{{ messages }}"));
    GgufTensor& embedding = *w.tensor("token_embd.weight");
    embedding.shape[1] = 4;
    embedding.data.resize(std::size_t{4} * 16 * 2);
    return w;
}

Bytes good() { return good_writer().build(); }

/// The good file's bytes, changed.
std::function<Bytes()> bytes(std::function<void(Bytes&)> change) {
    return [change] {
        Bytes b = good();
        change(b);
        return b;
    };
}

/// The good file's writer, changed before it builds.
std::function<Bytes()> writer(std::function<void(GgufWriter&)> change,
                              const std::string& family = "llama") {
    return [change, family] {
        GgufWriter w = good_writer(family);
        change(w);
        return w.build();
    };
}

std::function<Bytes()> key(const char* name, GgufValue value, const std::string& family = "llama") {
    return writer([=](GgufWriter& w) { w.set(name, value); }, family);
}

std::function<Bytes()> no_key(const char* name) {
    return writer([=](GgufWriter& w) { w.erase(name); });
}

std::function<Bytes()> tensor(const char* name, std::function<void(GgufTensor&)> change) {
    return writer([=](GgufWriter& w) {
        HEARTH_CHECK(w.tensor(name) != nullptr);
        change(*w.tensor(name));
    });
}

void put(Bytes& b, std::size_t at, std::uint64_t v, std::size_t n) {
    std::memcpy(b.data() + at, &v, n);
}

/// A value with its own type id and raw bytes.
GgufValue raw(std::uint32_t type, Bytes value) { return {type, std::move(value)}; }

GgufValue array_of(std::uint32_t element, std::uint64_t count, std::size_t bytes_given) {
    GgufValue v{9, {}};
    append_u32(v.bytes, element);
    append_u64(v.bytes, count);
    v.bytes.resize(v.bytes.size() + bytes_given);
    return v;
}

constexpr std::uint64_t kHuge = std::uint64_t{1} << 63;

std::vector<BadFile> bad_headers() {
    return {
        {"empty file", [] { return Bytes{}; }, "expected 'GGUF' in its first 4 bytes, found ''"},
        {"three bytes",
         [] {
             return Bytes{'G', 'G', 'U'};
         },
         "found 'GGU'"},
        {"magic only",
         [] {
             return Bytes{'G', 'G', 'U', 'F'};
         },
         "incomplete or damaged"},
        {"other magic", bytes([](Bytes& b) { b[0] = 'X'; }), "found 'XGUF'"},
        {"old ggml file", bytes([](Bytes& b) { std::memcpy(b.data(), "tjgg", 4); }), "'tjgg'"},
        {"a web page", [] { return Bytes{'<', 'h', 't', 'm', 'l', '>', ' ', ' '}; }, "'<htm'"},
        {"version 0", bytes([](Bytes& b) { put(b, 4, 0, 4); }), "too old"},
        {"version 1", bytes([](Bytes& b) { put(b, 4, 1, 4); }), "too old"},
        {"version 4", bytes([](Bytes& b) { put(b, 4, 4, 4); }), "newer than this program"},
        {"big-endian", bytes([](Bytes& b) { put(b, 4, 0x03000000, 4); }), "big-endian"},
        {"tensor count 2^63", bytes([](Bytes& b) { put(b, 8, kHuge, 8); }), "tensors"},
        {"tensor count too large", bytes([](Bytes& b) { put(b, 8, 100000, 8); }), "100000 tensors"},
        {"tensor count one more", bytes([](Bytes& b) { b[8]++; }), "tensor"},
        {"key count 2^64-1", bytes([](Bytes& b) { put(b, 16, ~std::uint64_t{0}, 8); }), "keys"},
        {"key count one less", bytes([](Bytes& b) { b[16]--; }), "tensor"},
        {"key length 2^63", bytes([](Bytes& b) { put(b, 24, kHuge, 8); }), "at most 65535"},
        {"key without name", key("", GgufValue::u32(1)), "has no name"},
        {"key twice", writer([](GgufWriter& w) { w.keys.push_back(w.keys.front()); }),
         "the key 'general.architecture' appears twice"},
        {"unknown value type", key("x", raw(13, {1})), "unknown value type 13"},
        {"boolean of 2", key("x", raw(7, {2})), "boolean 2"},
        {"booleans of 7",
         key("x",
             [] {
                 GgufValue v = array_of(7, 3, 3);
                 v.bytes.back() = 7;
                 return v;
             }()),
         "boolean 7"},
        {"nested array", key("x", array_of(9, 1, 20)), "array of arrays"},
        {"array of unknown type", key("x", array_of(99, 1, 20)), "unknown value type 99"},
        {"array length 2^63", key("x", array_of(4, kHuge, 16)), "claims 9223372036854775808"},
        {"array length 2^61 of u64", key("x", array_of(10, kHuge >> 2, 16)), "the array 'x'"},
        {"array of strings, too long", key("x", array_of(8, 1u << 29, 64)), "the array 'x'"},
        {"string past the end", key("x", raw(8, {255, 255, 255, 63, 0, 0, 0, 0})), "incomplete"},
        {"string length 2^64-1", key("x", raw(8, Bytes(8, 255))), "at most 1073741824"},
        {"alignment 0", key("general.alignment", GgufValue::u32(0)), "a power of two from 8"},
        {"alignment 24", key("general.alignment", GgufValue::u32(24)), "general.alignment is 24"},
        {"alignment 4", key("general.alignment", GgufValue::u32(4)), "general.alignment is 4"},
        {"alignment 2^31", key("general.alignment", GgufValue::u32(1u << 31)), "2147483648"},
        {"alignment as string", key("general.alignment", GgufValue::text("32")), "a string"},
        {"alignment as u64", key("general.alignment", GgufValue::u64(32)), "32-bit unsigned"},
        {"alignment not used", key("general.alignment", GgufValue::u32(1024)), "multiple of the"},
    };
}

std::vector<BadFile> bad_tensors() {
    const auto norm = [](std::function<void(GgufTensor&)> f) {
        return tensor("blk.0.attn_norm.weight", std::move(f));
    };
    const auto shape = [&](std::vector<std::uint64_t> s) {
        return norm([s](GgufTensor& t) { t.shape = s; });
    };
    const auto type = [&](std::uint32_t id) { return norm([id](GgufTensor& t) { t.type = id; }); };
    return {
        {"tensor without name", norm([](GgufTensor& t) { t.name = ""; }), "0 bytes, expected 1"},
        {"name of 64 bytes", norm([](GgufTensor& t) { t.name = std::string(64, 'n'); }),
         "64 bytes, expected 1 to 63"},
        {"tensor twice", norm([](GgufTensor& t) { t.name = "token_embd.weight"; }),
         "two tensors named 'token_embd.weight'"},
        {"no dimensions", shape({}), "has 0 dimensions"},
        {"five dimensions", shape({64, 1, 1, 1, 1}), "has 5 dimensions"},
        {"dimension 0", shape({0}), "dimension 0 of tensor 'blk.0.attn_norm.weight' is 0"},
        {"negative dimension", shape({64, ~std::uint64_t{0}}), "is -1, expected at least 1"},
        {"product overflows", shape({64, kHuge >> 1, 8}), "overflows 64 bits"},
        {"rows overflow", shape({4, kHuge >> 2, kHuge >> 2}), "overflows 64 bits"},
        {"bytes overflow", shape({64, kHuge >> 8, 1}), "overflows 64 bits"},
        {"removed type Q4_2", type(4), "type Q4_2, which was removed"},
        {"removed type Q4_0_8_8", type(33), "type Q4_0_8_8, which was removed"},
        {"unsupported type IQ1_S", type(19),
         "type IQ1_S, which is not supported; supported are F32"},
        {"unknown type 200", type(200), "type number 200, which is not supported"},
        {"row is not whole blocks", norm([](GgufTensor& t) {
             t.type = 12;
             t.data.resize(36);
         }),
         "have 64 elements, expected a multiple of 256 for Q4_K"},
        {"offset not aligned", norm([](GgufTensor& t) {
             t.forced_offset = true;
             t.offset = 98305;
         }),
         "not a multiple of the alignment"},
        {"hole before a tensor", norm([](GgufTensor& t) {
             t.forced_offset = true;
             t.offset = 98304 + 32;
         }),
         "right after the tensor before it"},
        {"tensors overlap", norm([](GgufTensor& t) {
             t.forced_offset = true;
             t.offset = 0;
         }),
         "begins at 0 of the data, expected 98304"},
        {"offset 2^64-32", norm([](GgufTensor& t) {
             t.forced_offset = true;
             t.offset = ~std::uint64_t{31};
         }),
         "right after the tensor before it"},
        {"last tensor cut", bytes([](Bytes& b) { b.resize(b.size() - 64); }), "file is incomplete"},
        {"half a download", bytes([](Bytes& b) { b.resize(b.size() / 2); }), "file is incomplete"},
        {"bytes after the end", bytes([](Bytes& b) { b.resize(b.size() + 100); }),
         "100 bytes follow the last tensor"},
        {"two files joined", bytes([](Bytes& b) {
             const Bytes again = b;
             b.insert(b.end(), again.begin(), again.end());
         }),
         "joined with cat"},
    };
}

std::vector<BadFile> bad_configurations() {
    const auto u32 = [](std::uint32_t v) { return GgufValue::u32(v); };
    return {
        {"no architecture", no_key("general.architecture"), "general.architecture is missing"},
        {"architecture as integer", key("general.architecture", u32(1)), "expected a string"},
        {"unknown architecture", key("general.architecture", GgufValue::text("mamba\n2")),
         "'mamba?2' is not supported; supported are llama"},
        {"no block count", no_key("llama.block_count"), "llama.block_count is missing"},
        {"block count 0", key("llama.block_count", u32(0)), "expected 1 to 1024"},
        {"block count 3", key("llama.block_count", u32(3)), "'blk.2.attn_norm.weight' is missing"},
        {"block count 1", key("llama.block_count", GgufValue::text("2")), "expected an integer"},
        {"hidden size differs", key("llama.embedding_length", u32(128)),
         "'token_embd.weight' has shape [64, 384], expected [128, 384]"},
        {"width differs", key("llama.feed_forward_length", u32(97)), "expected [64, 97]"},
        {"widths per layer", key("llama.feed_forward_length", GgufValue::i32s({96, 64})),
         "differs between layers"},
        {"heads differ", key("llama.attention.head_count", u32(8)), "expected [64, 128]"},
        {"heads not shared evenly", key("llama.attention.head_count_kv", u32(3)),
         "4 query heads cannot share 3 key heads"},
        {"no heads", key("llama.attention.head_count", u32(0)), "expected 1 to 1024"},
        {"head of 20", key("llama.attention.key_length", u32(20)), "dimensions"},
        {"head of 512", writer([](GgufWriter& w) {
             w.set("llama.attention.key_length", GgufValue::u32(512));
             w.set("llama.attention.value_length", GgufValue::u32(512));
         }),
         "multiple of 16 up to 256"},
        {"values of another size", key("llama.attention.value_length", u32(32)),
         "keys have 16 dimensions and values 32"},
        {"odd rotation", key("llama.rope.dimension_count", u32(15)), "expected an even number"},
        {"rotation wider than the head", key("llama.rope.dimension_count", u32(32)),
         "expected 2 to 16"},
        {"base 0", key("llama.rope.freq_base", GgufValue::f32(0)), "expected a positive number"},
        {"base not a number",
         key("llama.rope.freq_base", GgufValue::f32(std::numeric_limits<float>::quiet_NaN())),
         "not a finite number"},
        {"unknown scaling", key("llama.rope.scaling.type", GgufValue::text("dynamic")),
         "is 'dynamic', expected none, linear"},
        {"scaling factor 0", writer([](GgufWriter& w) {
             w.set("llama.rope.scaling.type", GgufValue::text("linear"));
             w.set("llama.rope.scaling.factor", GgufValue::f32(0));
         }),
         "rope.scaling.factor is 0"},
        {"longrope without lists", key("llama.rope.scaling.type", GgufValue::text("longrope")),
         "'rope_factors_short.weight' is missing"},
        {"eps negative", key("llama.attention.layer_norm_rms_epsilon", GgufValue::f32(-1)),
         "expected 0 to 1"},
        {"experts", key("llama.expert_count", u32(8)), "a mixture of 8 experts"},
        {"norm in F16",
         tensor("blk.1.ffn_norm.weight",
                [](GgufTensor& t) {
                    t.type = 1;
                    t.data.resize(128);
                }),
         "'blk.1.ffn_norm.weight' has the type F16, expected F32"},
        {"norm missing", writer([](GgufWriter& w) { w.erase_tensor("output_norm.weight"); }),
         "tensor 'output_norm.weight' is missing"},
        {"embedding missing", writer([](GgufWriter& w) { w.erase_tensor("token_embd.weight"); }),
         "tensor 'token_embd.weight' is missing"},
        {"bias missing",
         writer([](GgufWriter& w) { w.erase_tensor("blk.1.attn_k.bias"); }, "qwen2"),
         "'blk.1.attn_k.bias' is missing"},
        {"a tensor of another architecture", writer([](GgufWriter& w) {
             w.tensors.push_back({"blk.0.attn_output.bias", {64}, 0, Bytes(256)});
         }),
         "'blk.0.attn_output.bias' is not part of the architecture"},
        {"window pattern of another length",
         key("gemma3.attention.sliding_window_pattern", GgufValue::bools({true}), "gemma3"),
         "expected one per layer (2)"},
        {"soft cap negative", key("gemma2.attn_logit_softcapping", GgufValue::f32(-1), "gemma2"),
         "expected a positive number or 0"},
        {"weights absent", writer([](GgufWriter& w) { w.tensors.clear(); }),
         "holds a vocabulary and no weights"},
        {"half of a split model", key("split.count", GgufValue::u16(2)), "is one part of 2"},
        {"split count as string", key("split.count", GgufValue::text("2")), "expected an integer"},
    };
}

std::vector<BadFile> bad_vocabularies() {
    const auto u32 = [](std::uint32_t v) { return GgufValue::u32(v); };
    return {
        {"no vocabulary", no_key("tokenizer.ggml.tokens"), "has no vocabulary"},
        {"no tokenizer model", no_key("tokenizer.ggml.model"), "has no vocabulary"},
        {"no tokens", key("tokenizer.ggml.tokens", GgufValue::texts({})), "has no vocabulary"},
        {"tokens are integers", key("tokenizer.ggml.tokens", GgufValue::i32s({1, 2})),
         "expected an array of strings"},
        {"types too few", key("tokenizer.ggml.token_type", GgufValue::i32s({1, 2})),
         "token_type has 2 elements, expected one for each of 384"},
        {"type 9",
         key("tokenizer.ggml.token_type", GgufValue::i32s(std::vector<std::int32_t>(384, 9))),
         "expected 1 to 6"},
        {"scores too few", key("tokenizer.ggml.scores", GgufValue::f32s({0})), "scores has 1"},
        {"score not a number",
         key("tokenizer.ggml.scores",
             GgufValue::f32s(std::vector<float>(384, std::numeric_limits<float>::infinity()))),
         "not a finite number"},
        {"merges are integers", key("tokenizer.ggml.merges", GgufValue::i32s({1})),
         "expected an array of strings"},
        {"eos outside", key("tokenizer.ggml.eos_token_id", u32(384)),
         "eos_token_id is 384, expected one of the 384 tokens"},
        {"bos negative", key("tokenizer.ggml.bos_token_id", GgufValue::i32(-2)), "is -2"},
        {"bos as string", key("tokenizer.ggml.bos_token_id", GgufValue::text("1")), "an integer"},
        {"add_bos as integer", key("tokenizer.ggml.add_bos_token", u32(1)), "expected a boolean"},
        {"template as integer", key("tokenizer.chat_template", u32(1)), "expected a string"},
        {"more tokens than rows", writer([](GgufWriter& w) {
             GgufTensor& t = *w.tensor("token_embd.weight");
             t.shape[1] = 100;
             t.data.resize(64 * 4 * 100);
         }),
         "has 384 tokens, expected at most the 100 rows"},
    };
}

void check_all(const std::vector<BadFile>& files) {
    for (const BadFile& bad : files) {
        CAPTURE(bad.name);
        const Bytes data = bad.make();
        auto file = WeightFile::parse(data, "bad.gguf");
        Error error;
        if (file) {
            auto model = Model::from_file(*file);
            CHECK_FALSE(model);
            if (model) continue;
            error = model.error();
        } else {
            error = file.error();
        }
        CAPTURE(error.what);
        CHECK(error.code == Errc::model_invalid);
        CHECK(exit_code(error.code) == 3);
        CHECK(error.what.find("bad.gguf: ") == 0);
        CHECK(error.what.find('\n') == std::string::npos);
        CHECK(error.what.find(bad.expected) != std::string::npos);
    }
}

}  // namespace

TEST_CASE("The good file from which the bad ones are made loads", "[model][bad_files]") {
    for (const char* family : {"llama", "qwen2", "qwen3", "gemma2", "gemma3", "phi3"}) {
        const Bytes data = good_writer(family).build();
        auto file = WeightFile::parse(data, "good.gguf");
        REQUIRE(file);
        auto model = Model::from_file(*file);
        INFO((model ? "" : model.error().what));
        CHECK(model);
    }
}

TEST_CASE("Bad headers and keys are each one sentence", "[model][bad_files]") {
    check_all(bad_headers());
}
TEST_CASE("Bad tensor records and extents are each one sentence", "[model][bad_files]") {
    check_all(bad_tensors());
}
TEST_CASE("Bad configurations are each one sentence", "[model][bad_files]") {
    check_all(bad_configurations());
}
TEST_CASE("Bad vocabularies are each one sentence", "[model][bad_files]") {
    check_all(bad_vocabularies());
}

TEST_CASE("A file cut at any place is refused, never read past its end", "[model][bad_files]") {
    const Bytes data = good();
    for (std::size_t n = 0; n < data.size() - 32; n += 97) {
        // An exact allocation, so that a sanitizer sees one byte too far.
        const std::vector<std::uint8_t> cut(data.begin(),
                                            data.begin() + static_cast<std::ptrdiff_t>(n));
        const auto file = WeightFile::parse(cut, "cut.gguf");
        CAPTURE(n);
        REQUIRE_FALSE(file);
        REQUIRE(file.error().code == Errc::model_invalid);
        REQUIRE(file.error().what.find('\n') == std::string::npos);
    }
}

TEST_CASE("A file with any header byte changed loads or is refused", "[model][bad_files]") {
    const Bytes data = good();
    const std::size_t header = data.size() < 20000 ? data.size() : 20000;
    for (std::size_t at = 0; at < header; at += 7) {
        for (const int change : {1, 0x80, 0xff}) {
            Bytes spoilt = data;
            spoilt[at] = static_cast<std::uint8_t>(spoilt[at] ^ change);
            auto file = WeightFile::parse(spoilt, "spoilt.gguf");
            if (!file) {
                REQUIRE(file.error().code == Errc::model_invalid);
                continue;
            }
            auto model = Model::from_file(*file);
            if (!model) REQUIRE(model.error().code == Errc::model_invalid);
            (void)(*file)->describe();
        }
    }
}

TEST_CASE("Write the fuzzing corpus to HEARTH_CORPUS", "[.][write_corpus]") {
    const char* folder = std::getenv("HEARTH_CORPUS");
    REQUIRE(folder != nullptr);
    micro = true;
    for (const char* family : {"llama", "qwen2", "qwen3", "gemma2", "gemma3", "phi3"}) {
        write_file(std::string(folder) + "/good_" + family, good_writer(family).build());
    }
    for (const auto& list :
         {bad_headers(), bad_tensors(), bad_configurations(), bad_vocabularies()}) {
        for (const BadFile& bad : list) {
            std::string name(bad.name);
            for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
            write_file(std::string(folder) + "/" + name, bad.make());
        }
    }
    micro = false;
}
