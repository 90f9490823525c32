#include "engine/text/pretokenizer.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <array>

#include <pcre2.h>

#include "engine/text/utf8.h"

namespace hearth {
namespace {

using MatchData = std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)>;
using MatchContext = std::unique_ptr<pcre2_match_context, decltype(&pcre2_match_context_free)>;

/// A byte that belongs to no character becomes this control character before matching: one byte
/// long, so offsets stay, and neither letter, digit, mark, punctuation, symbol nor space.
constexpr char kInvalidByte = '\x01';

/// `text` with every invalid byte replaced; false when there is none and `shadow` is untouched.
bool make_shadow(std::string_view text, std::string& shadow) {
    bool changed = false;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t length = utf8_character(text, at);
        if (length == 0) {
            if (!changed) shadow.assign(text);
            changed = true;
            shadow[at] = kInvalidByte;
        }
        at += length == 0 ? 1 : length;
    }
    return changed;
}

}  // namespace

struct PreTokenizer::Code {
    pcre2_code* code = nullptr;
    explicit Code(pcre2_code* compiled) : code(compiled) {}
    Code(const Code&) = delete;
    Code& operator=(const Code&) = delete;
    ~Code() { pcre2_code_free(code); }
};

Result<PreTokenizer> PreTokenizer::make(const PreTokenizerRow& row) {
    PreTokenizer made;
    for (const std::string& pattern : row.stages) {
        int error = 0;
        PCRE2_SIZE offset = 0;
        pcre2_code* code =
            pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                          PCRE2_UTF | PCRE2_UCP, &error, &offset, nullptr);
        if (code == nullptr) {
            std::array<PCRE2_UCHAR, 128> text{};
            pcre2_get_error_message(error, text.data(), text.size());
            return fail(Errc::failed,
                        "the pattern of pre-tokenizer {} does not compile: {} at offset {}",
                        row.name, reinterpret_cast<const char*>(text.data()), offset);
        }
        made.stages_.push_back(std::make_shared<const Code>(code));
        // Where the system forbids code made at run time the interpreter does the same, slower.
        pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
    }
    return made;
}

namespace {

/// One walk over a text: the compiled stages and the scratch memory of matching.
struct Walk {
    std::vector<const pcre2_code*> stages;
    MatchData match{pcre2_match_data_create(1, nullptr), pcre2_match_data_free};
    MatchContext limits{pcre2_match_context_create(nullptr), pcre2_match_context_free};
    std::string_view shadow;  ///< what is matched
    std::string_view text;    ///< what is emitted, same offsets
    const PreTokenizer::Emit* emit = nullptr;

    struct Span {
        std::size_t begin = 0, end = 0;
    };
    /// First match in [begin, end); an empty span at `end` when there is none.
    Span find(std::size_t stage, std::size_t begin, std::size_t end) const {
        const auto subject = shadow.substr(begin, end - begin);
        const int found =
            pcre2_match(stages[stage], reinterpret_cast<PCRE2_SPTR>(subject.data()), subject.size(),
                        0, PCRE2_NO_UTF_CHECK, match.get(), limits.get());
        if (found == PCRE2_ERROR_NOMATCH) return {end, end};
        const PCRE2_SIZE* range = pcre2_get_ovector_pointer(match.get());
        if (found >= 0 && range[1] > range[0]) return {begin + range[0], begin + range[1]};
        // Out of memory inside the matcher: go on by one character, no byte is lost.
        const std::size_t length = utf8_character(shadow, begin);
        return {begin, begin + (length == 0 ? 1 : length)};
    }

    void run(std::size_t stage, std::size_t begin, std::size_t end) const {
        if (stage == stages.size()) {
            (*emit)(text.substr(begin, end - begin));
            return;
        }
        while (begin < end) {
            const Span span = find(stage, begin, end);
            if (span.begin > begin) run(stage + 1, begin, span.begin);
            if (span.end > span.begin) run(stage + 1, span.begin, span.end);
            begin = span.end;
        }
    }
};

}  // namespace

void PreTokenizer::split(std::string_view text, const Emit& emit) const {
    std::string shadow;
    Walk walk;
    walk.text = text;
    walk.shadow = make_shadow(text, shadow) ? std::string_view(shadow) : text;
    walk.emit = &emit;
    for (const auto& stage : stages_) walk.stages.push_back(stage->code);
    // The default limits stop a runaway pattern; ours walk a run once, however long it is.
    if (walk.limits) pcre2_set_match_limit(walk.limits.get(), 0xFFFFFFFFu);
    walk.run(0, 0, text.size());
}

}  // namespace hearth
