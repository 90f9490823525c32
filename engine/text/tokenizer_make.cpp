// Tokenizer::make: a vocabulary checked and turned into tables. Every field comes from a file.

#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>

#include <xxhash.h>

#include "engine/text/bpe.h"
#include "engine/text/spm.h"
#include "engine/text/token_text.h"
#include "engine/text/tokenizer_impl.h"

namespace hearth {
namespace {

/// Token texts that end a turn in some family (text.md section 5), where the file has them as
/// control.
constexpr std::array<std::string_view, 10> kEndTexts = {
    "<|eot_id|>", "<|im_end|>", "<|end|>", "<end_of_turn>", "<|endoftext|>",
    "<|return|>", "<|call|>",   "<EOT>",   "_<EOT>",        "[EOS]"};

template <typename T>
Result<void> check_count(const Vocabulary& v, const std::vector<T>& field, std::string_view name) {
    if (field.empty() || field.size() == v.tokens.size()) return {};
    return fail(Errc::model_invalid,
                "{}: {} has {} entries, expected one for each of the {} tokens; download the model "
                "again",
                v.source, name, field.size(), v.tokens.size());
}

Result<void> check_id(const Vocabulary& v, std::optional<TokenId> id, std::string_view name) {
    if (!id || (*id >= 0 && static_cast<std::size_t>(*id) < v.tokens.size())) return {};
    return fail(
        Errc::model_invalid,
        "{}: tokenizer.ggml.{}_token_id is {}, expected a number below the {} tokens of the "
        "vocabulary; download the model again",
        v.source, name, *id, v.tokens.size());
}

Result<void> check_vocabulary(const Vocabulary& v) {
    if (v.model != "gpt2" && v.model != "llama") {
        return fail(Errc::model_invalid,
                    "{}: the tokenizer \"{}\" is not supported; Hearth reads gpt2 (byte-level BPE) "
                    "and llama (SentencePiece)",
                    v.source, printable_token(v.model));
    }
    if (v.tokens.empty()) {
        return fail(Errc::model_invalid,
                    "{}: the vocabulary has no tokens; download the model again", v.source);
    }
    HEARTH_TRY_VOID(check_count(v, v.scores, "tokenizer.ggml.scores"));
    HEARTH_TRY_VOID(check_count(v, v.types, "tokenizer.ggml.token_type"));
    HEARTH_TRY_VOID(check_id(v, v.bos, "bos"));
    HEARTH_TRY_VOID(check_id(v, v.eos, "eos"));
    HEARTH_TRY_VOID(check_id(v, v.eot, "eot"));
    HEARTH_TRY_VOID(check_id(v, v.eom, "eom"));
    if (v.model != "llama") return {};
    if (v.scores.empty()) {
        return fail(
            Errc::model_invalid,
            "{}: the SentencePiece vocabulary has no scores (tokenizer.ggml.scores); convert "
            "or download the model again",
            v.source);
    }
    for (std::size_t i = 0; i < v.scores.size(); ++i) {
        if (!std::isfinite(v.scores[i])) {
            return fail(
                Errc::model_invalid,
                "{}: the score of token {} is not a finite number; download the model again",
                v.source, i);
        }
    }
    return {};
}

/// Types as the file gives them, each in range; byte tokens spell a byte.
Result<std::vector<TokenType>> read_types(const Vocabulary& v) {
    std::vector<TokenType> types(v.tokens.size(), TokenType::normal);
    for (std::size_t i = 0; i < v.types.size(); ++i) {
        const std::int32_t type = v.types[i];
        if (type < 0 || type > 6) {
            return fail(Errc::model_invalid,
                        "{}: token {} has type {}, expected 1 to 6; download the model again",
                        v.source, i, type);
        }
        types[i] = type == 0 ? TokenType::normal : static_cast<TokenType>(type);
        if (types[i] == TokenType::byte && !byte_of_token(v.tokens[i])) {
            return fail(Errc::model_invalid,
                        "{}: token {} is a byte token, expected a text like <0x0A>, found \"{}\"",
                        v.source, i, printable_token(v.tokens[i]));
        }
    }
    return types;
}

/// <|name|>, also with DeepSeek's full-width bars, and Gemma's turn markers: what templates use. A
/// file that calls such a token ordinary would let a user's text forge a turn.
bool looks_like_control(std::string_view text) {
    const auto framed = [&](std::string_view open, std::string_view close) {
        if (text.size() <= open.size() + close.size() || !text.starts_with(open) ||
            !text.ends_with(close)) {
            return false;
        }
        const auto name = text.substr(open.size(), text.size() - open.size() - close.size());
        return name.find_first_of(" \t\r\n<>") == std::string_view::npos;
    };
    return framed("<|", "|>") || framed("<\xEF\xBD\x9C", "\xEF\xBD\x9C>") ||
           text == "<start_of_turn>" || text == "<end_of_turn>";
}

void correct_types(Tokenizer::Impl& impl) {
    const Vocabulary& v = impl.vocabulary;
    std::string first;
    std::size_t corrected = 0;
    const auto correct = [&](std::size_t i) {
        if (impl.types[i] != TokenType::normal && impl.types[i] != TokenType::user_defined) return;
        impl.types[i] = TokenType::control;
        if (corrected++ == 0) first = printable_token(v.tokens[i]);
    };
    for (std::size_t i = 0; i < v.tokens.size(); ++i) {
        if (looks_like_control(v.tokens[i])) correct(i);
    }
    for (const auto id : {v.bos, v.eos, v.eot, v.eom}) {
        if (id) correct(static_cast<std::size_t>(*id));
    }
    if (corrected > 0 && !v.types.empty()) {
        impl.warnings.push_back(fmt::format(
            "{} tokens such as {} are control tokens, though the file calls them ordinary",
            corrected, first));
    }
}

Result<void> make_bpe(Tokenizer::Impl& impl) {
    Vocabulary& v = impl.vocabulary;
    const PreTokenizerRow* row = find_pretokenizer(v.pre);
    if (row == nullptr) {
        row = guess_pretokenizer(v);
        const std::string said =
            v.pre.empty() ? "names no pre-tokenizer"
                          : fmt::format("names the pre-tokenizer \"{}\"", printable_token(v.pre));
        if (row == nullptr) {
            return fail(Errc::model_invalid,
                        "{}: the file {}, and its vocabulary is none that Hearth recognises; known "
                        "are {}",
                        v.source, said, pretokenizer_names());
        }
        impl.warnings.push_back(fmt::format(
            "the file {}; its vocabulary looks like {}, which is used", said, row->name));
    }
    HEARTH_TRY(impl.encoder, Bpe::make(v, impl.types, impl.ids, *row, impl.warnings));
    v.pre = row->name;
    impl.wants_bos = v.add_bos.value_or(row->add_bos);
    return {};
}

void make_spm(Tokenizer::Impl& impl) {
    const Vocabulary& v = impl.vocabulary;
    impl.encoder = Spm::make(v, impl.types, impl.warnings);
    impl.space_prefix = v.add_space_prefix.value_or(true);
    impl.wants_bos = v.add_bos.value_or(true);
}

void index_tokens(Tokenizer::Impl& impl) {
    const std::vector<std::string>& tokens = impl.vocabulary.tokens;
    impl.ids = TokenIndex(tokens.size());
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        impl.ids.add(tokens[i], static_cast<TokenId>(i));
    }
}

void index_special(Tokenizer::Impl& impl) {
    const Vocabulary& v = impl.vocabulary;
    for (std::size_t i = 0; i < v.tokens.size(); ++i) {
        const auto id = static_cast<TokenId>(i);
        if (impl.types[i] == TokenType::user_defined) {
            const std::string spelling = impl.encoder->bytes(v.tokens[i], impl.types[i]);
            impl.user_defined.add(spelling, id);
            impl.all_special.add(spelling, id);
        } else if (impl.is_control(id)) {
            impl.all_special.add(v.tokens[i], id);
        }
    }
}

void collect_eog(Tokenizer::Impl& impl) {
    const Vocabulary& v = impl.vocabulary;
    std::vector<TokenId>& eog = impl.eog;
    for (const auto id : {v.eos, v.eot, v.eom}) {
        if (id) eog.push_back(*id);
    }
    const auto control_id = [&](std::string_view text) {
        const TokenId id = impl.ids.find(text);
        return impl.is_control(id) ? id : -1;
    };
    // In harmony (gpt-oss) <|end|> ends a message, not the turn: the answer comes after it.
    const bool harmony = control_id("<|return|>") >= 0 && control_id("<|call|>") >= 0;
    for (const std::string_view text : kEndTexts) {
        const TokenId id = control_id(text);
        if (id >= 0 && !(harmony && text == "<|end|>")) eog.push_back(id);
    }
    std::sort(eog.begin(), eog.end());
    eog.erase(std::unique(eog.begin(), eog.end()), eog.end());
    if (eog.empty()) {
        impl.warnings.push_back(
            "the vocabulary has no end-of-turn token: answers end at the length limit only");
    }
}

/// xxh3-128 over everything that decides ids.
std::string hash_of(const Tokenizer::Impl& impl) {
    const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(),
                                                                         XXH3_freeState);
    XXH3_128bits_reset(state.get());
    const auto add = [&](const void* data, std::size_t bytes) {
        XXH3_128bits_update(state.get(), data, bytes);
    };
    const auto add_number = [&](std::int64_t value) { add(&value, sizeof value); };
    const auto add_text = [&](std::string_view text) {
        add_number(static_cast<std::int64_t>(text.size()));
        add(text.data(), text.size());
    };
    const auto add_texts = [&](const std::vector<std::string>& texts) {
        add_number(static_cast<std::int64_t>(texts.size()));
        for (const std::string& text : texts) add_text(text);
    };
    const Vocabulary& v = impl.vocabulary;
    constexpr std::int64_t kRevision = 2;  // raised when equal fields give other ids
    add_number(kRevision);
    add_text(v.model);
    add_text(v.pre);
    add_texts(v.tokens);
    add_texts(v.merges);
    add(v.scores.data(), v.scores.size() * sizeof(float));
    add(impl.types.data(), impl.types.size() * sizeof(TokenType));
    for (const auto id : {v.bos, v.eos, v.eot, v.eom, v.unk, v.pad}) add_number(id.value_or(-1));
    add_number(impl.wants_bos);
    add_number(impl.space_prefix);
    add_number(v.remove_extra_whitespaces.value_or(false));
    const XXH128_hash_t hash = XXH3_128bits_digest(state.get());
    return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace

Result<std::unique_ptr<Tokenizer>> Tokenizer::make(Vocabulary vocabulary) {
    HEARTH_TRY_VOID(check_vocabulary(vocabulary));
    auto impl = std::make_unique<Impl>();
    impl->vocabulary = std::move(vocabulary);
    Vocabulary& v = impl->vocabulary;
    HEARTH_TRY(impl->types, read_types(v));
    // Some files write -1 for "none" here; nothing depends on these two.
    for (auto* id : {&v.unk, &v.pad}) {
        if (!check_id(v, *id, "")) {
            impl->warnings.push_back(
                fmt::format("an unknown or padding token id of {} is ignored", **id));
            id->reset();
        }
    }
    correct_types(*impl);
    index_tokens(*impl);
    if (v.model == "llama") {
        make_spm(*impl);
    } else {
        HEARTH_TRY_VOID(make_bpe(*impl));
    }
    index_special(*impl);
    collect_eog(*impl);
    if (impl->wants_bos && !v.bos) {
        impl->wants_bos = false;
        if (v.add_bos.value_or(false)) {
            impl->warnings.push_back(
                "the file asks for a begin-of-text token and names none: texts begin without it");
        }
    }
    impl->hash = hash_of(*impl);
    return std::unique_ptr<Tokenizer>(new Tokenizer(std::move(impl)));
}

}  // namespace hearth
