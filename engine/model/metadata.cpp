// Typed access to the keys of a WeightFile, and what is made of them: vocabulary, template, list.

#include <cmath>
#include <cstring>
#include <limits>

#include "engine/model/gguf.h"
#include "engine/model/weight_file.h"

namespace hearth {

namespace {

template <typename T>
T load(const std::uint8_t* p) {
    T v;
    std::memcpy(&v, p, sizeof(T));
    return v;
}

/// An integer or boolean as int64; nullopt when a u64 does not fit.
std::optional<std::int64_t> load_int(GgufType type, const std::uint8_t* p) {
    switch (type) {
        case GgufType::u8:
        case GgufType::boolean:
            return *p;
        case GgufType::i8:
            return load<std::int8_t>(p);
        case GgufType::u16:
            return load<std::uint16_t>(p);
        case GgufType::i16:
            return load<std::int16_t>(p);
        case GgufType::u32:
            return load<std::uint32_t>(p);
        case GgufType::i32:
            return load<std::int32_t>(p);
        case GgufType::i64:
            return load<std::int64_t>(p);
        case GgufType::u64: {
            const auto v = load<std::uint64_t>(p);
            if (v > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
                return std::nullopt;
            }
            return static_cast<std::int64_t>(v);
        }
        default:
            return std::nullopt;
    }
}

bool is_number(GgufType type) {
    return is_gguf_integer(type) || type == GgufType::f32 || type == GgufType::f64;
}

double load_float(GgufType type, const std::uint8_t* p) {
    if (type == GgufType::f32) return load<float>(p);
    if (type == GgufType::f64) return load<double>(p);
    return static_cast<double>(load_int(type, p).value_or(0));
}

tl::unexpected<Error> wrong_type(const WeightFile& f, const GgufKey& key,
                                 std::string_view expected) {
    const bool array = key.type == GgufType::array;
    return fail(
        Errc::model_invalid, "{}: key '{}' is {}{}, expected {}", f.path(), printable(key.name),
        gguf_type_name(key.type),
        array ? fmt::format(" whose elements are each {}", gguf_type_name(key.element)) : "",
        expected);
}

std::vector<std::string_view> strings_of(const GgufKey& key) {
    std::vector<std::string_view> out;
    out.reserve(key.count);
    const std::uint8_t* p = key.bytes.data();
    for (std::uint64_t i = 0; i < key.count; ++i) {
        const auto n = load<std::uint64_t>(p);
        out.emplace_back(reinterpret_cast<const char*>(p + 8), n);
        p += 8 + n;
    }
    return out;
}

std::string scalar_text(const GgufKey& key) {
    if (key.type == GgufType::boolean) return key.bytes[0] != 0 ? "true" : "false";
    if (key.type == GgufType::u64) return fmt::format("{}", load<std::uint64_t>(key.bytes.data()));
    if (is_gguf_integer(key.type)) {
        return fmt::format("{}", load_int(key.type, key.bytes.data()).value_or(0));
    }
    return fmt::format("{}", load_float(key.type, key.bytes.data()));
}

}  // namespace

Result<std::optional<std::int64_t>> WeightFile::get_int(std::string_view name) const {
    const GgufKey* key = find_key(name);
    if (key == nullptr) return std::nullopt;
    if (!is_gguf_integer(key->type)) return wrong_type(*this, *key, "an integer");
    const auto v = load_int(key->type, key->bytes.data());
    if (!v) {
        return fail(Errc::model_invalid, "{}: key '{}' is {}, too large for an integer", path(),
                    printable(name), scalar_text(*key));
    }
    return v;
}

Result<std::optional<double>> WeightFile::get_float(std::string_view name) const {
    const GgufKey* key = find_key(name);
    if (key == nullptr) return std::nullopt;
    if (!is_number(key->type)) return wrong_type(*this, *key, "a number");
    return load_float(key->type, key->bytes.data());
}

Result<std::optional<bool>> WeightFile::get_bool(std::string_view name) const {
    const GgufKey* key = find_key(name);
    if (key == nullptr) return std::nullopt;
    if (key->type != GgufType::boolean) return wrong_type(*this, *key, "a boolean");
    return key->bytes[0] != 0;
}

Result<std::optional<std::string>> WeightFile::get_string(std::string_view name) const {
    const GgufKey* key = find_key(name);
    if (key == nullptr) return std::nullopt;
    if (key->type != GgufType::text) return wrong_type(*this, *key, "a string");
    return std::string(reinterpret_cast<const char*>(key->bytes.data()), key->bytes.size());
}

Result<std::optional<std::vector<std::int64_t>>> WeightFile::get_ints(std::string_view name) const {
    const GgufKey* key = find_key(name);
    if (key == nullptr) return std::nullopt;
    const bool integers = is_gguf_integer(key->element) || key->element == GgufType::boolean;
    if (key->type != GgufType::array || !integers) {
        return wrong_type(*this, *key, "an array of integers");
    }
    std::vector<std::int64_t> out;
    out.reserve(key->count);
    const std::size_t each = gguf_scalar_bytes(key->element);
    for (std::uint64_t i = 0; i < key->count; ++i) {
        const auto v = load_int(key->element, key->bytes.data() + i * each);
        if (!v) {
            return fail(Errc::model_invalid, "{}: element {} of key '{}' is too large", path(), i,
                        printable(name));
        }
        out.push_back(*v);
    }
    return out;
}

Result<std::optional<std::vector<double>>> WeightFile::get_floats(std::string_view name) const {
    const GgufKey* key = find_key(name);
    if (key == nullptr) return std::nullopt;
    if (key->type != GgufType::array || !is_number(key->element)) {
        return wrong_type(*this, *key, "an array of numbers");
    }
    std::vector<double> out;
    out.reserve(key->count);
    const std::size_t each = gguf_scalar_bytes(key->element);
    for (std::uint64_t i = 0; i < key->count; ++i) {
        out.push_back(load_float(key->element, key->bytes.data() + i * each));
    }
    return out;
}

Result<std::optional<std::vector<std::string>>> WeightFile::get_strings(
    std::string_view name) const {
    const GgufKey* key = find_key(name);
    if (key == nullptr) return std::nullopt;
    if (key->type != GgufType::array || key->element != GgufType::text) {
        return wrong_type(*this, *key, "an array of strings");
    }
    const auto views = strings_of(*key);
    return std::vector<std::string>(views.begin(), views.end());
}

std::vector<std::pair<std::string, std::string>> WeightFile::describe() const {
    std::vector<std::pair<std::string, std::string>> out;
    for (const GgufKey& key : keys()) {
        std::string value;
        if (key.type == GgufType::text) {
            value = printable({reinterpret_cast<const char*>(key.bytes.data()), key.bytes.size()});
        } else if (key.type == GgufType::array) {
            value = fmt::format("[{} elements, each {}]", key.count, gguf_type_name(key.element));
        } else {
            value = scalar_text(key);
        }
        out.emplace_back(printable(key.name), std::move(value));
    }
    return out;
}

Result<std::string> WeightFile::chat_template() const {
    HEARTH_TRY(auto text, get_string("tokenizer.chat_template"));
    return text.value_or("");
}

// --- vocabulary -----------------------------------------------------------------------------

namespace {

Result<void> check_length(const WeightFile& f, std::string_view what, std::size_t found,
                          std::size_t expected) {
    if (found == 0 || found == expected) return {};
    return fail(Errc::model_invalid, "{}: {} has {} elements, expected one for each of {} tokens",
                f.path(), what, found, expected);
}

/// A special token's id. -1, in any width that files write it, means that there is none.
Result<void> read_id(const WeightFile& f, const char* name, std::size_t n_tokens,
                     std::optional<TokenId>& out) {
    const std::string key = fmt::format("tokenizer.ggml.{}_token_id", name);
    HEARTH_TRY(const auto id, f.get_int(key));
    if (!id || *id == -1 || *id == 0xffffffff) return {};
    if (*id < 0 || *id >= static_cast<std::int64_t>(n_tokens)) {
        return fail(Errc::model_invalid, "{}: {} is {}, expected one of the {} tokens", f.path(),
                    key, *id, n_tokens);
    }
    out = static_cast<TokenId>(*id);
    return {};
}

Result<void> read_scores_and_types(const WeightFile& f, Vocabulary& v) {
    HEARTH_TRY(const auto scores, f.get_floats("tokenizer.ggml.scores"));
    HEARTH_TRY(const auto types, f.get_ints("tokenizer.ggml.token_type"));
    if (scores) {
        HEARTH_TRY_VOID(check_length(f, "tokenizer.ggml.scores", scores->size(), v.tokens.size()));
        for (const double s : *scores) {
            if (!std::isfinite(s)) {
                return fail(Errc::model_invalid, "{}: the score of token {} is not a finite number",
                            f.path(), v.scores.size());
            }
            v.scores.push_back(static_cast<float>(s));
        }
    }
    if (types) {
        HEARTH_TRY_VOID(
            check_length(f, "tokenizer.ggml.token_type", types->size(), v.tokens.size()));
        for (const std::int64_t t : *types) {
            if (t < 0 || t > 6) {
                return fail(Errc::model_invalid, "{}: the type of token {} is {}, expected 1 to 6",
                            f.path(), v.types.size(), t);
            }
            v.types.push_back(t == 0 ? 1 : static_cast<std::int32_t>(t));  // 0: undefined
        }
    }
    return {};
}

}  // namespace

Result<Vocabulary> WeightFile::vocabulary() const {
    Vocabulary v;
    v.source = path();
    HEARTH_TRY(auto model, get_string("tokenizer.ggml.model"));
    HEARTH_TRY(auto pre, get_string("tokenizer.ggml.pre"));
    HEARTH_TRY(auto tokens, get_strings("tokenizer.ggml.tokens"));
    HEARTH_TRY(auto merges, get_strings("tokenizer.ggml.merges"));
    if (!model || !tokens || tokens->empty()) {
        return fail(Errc::model_invalid,
                    "{}: has no vocabulary: expected the keys tokenizer.ggml.model and "
                    "tokenizer.ggml.tokens",
                    path());
    }
    v.model = std::move(*model);
    v.pre = std::move(pre).value_or("");
    v.tokens = std::move(*tokens);
    if (merges) v.merges = std::move(*merges);
    HEARTH_TRY_VOID(read_scores_and_types(*this, v));

    const std::size_t n = v.tokens.size();
    HEARTH_TRY_VOID(read_id(*this, "bos", n, v.bos));
    HEARTH_TRY_VOID(read_id(*this, "eos", n, v.eos));
    HEARTH_TRY_VOID(read_id(*this, "eot", n, v.eot));
    HEARTH_TRY_VOID(read_id(*this, "eom", n, v.eom));
    HEARTH_TRY_VOID(read_id(*this, "unknown", n, v.unk));
    HEARTH_TRY_VOID(read_id(*this, "padding", n, v.pad));
    HEARTH_TRY(v.add_bos, get_bool("tokenizer.ggml.add_bos_token"));
    HEARTH_TRY(v.add_eos, get_bool("tokenizer.ggml.add_eos_token"));
    HEARTH_TRY(v.add_space_prefix, get_bool("tokenizer.ggml.add_space_prefix"));
    HEARTH_TRY(v.remove_extra_whitespaces, get_bool("tokenizer.ggml.remove_extra_whitespaces"));
    return v;
}

}  // namespace hearth
