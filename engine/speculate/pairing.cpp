#include "engine/speculate/pairing.h"

#include <algorithm>

#include <fmt/format.h>

namespace hearth {

namespace {

constexpr double kMostDiffering = 0.003;  ///< of the target's tokens that can be text

struct Entry {
    const std::string& text;
    TokenType type;
};

Entry entry(const Vocabulary& v, int id) {
    const auto i = static_cast<std::size_t>(id);
    const auto type = i < v.types.size() ? static_cast<TokenType>(v.types[i]) : TokenType::normal;
    return {v.tokens[i], type};
}

bool is_text(const Entry& e) {
    return e.type == TokenType::normal || e.type == TokenType::byte ||
           e.type == TokenType::user_defined;
}

std::string shown(const Entry& e) {
    return e.text.size() <= 40 ? e.text : e.text.substr(0, 40) + "…";
}

/// Whether answers or prompts of the target depend on this control token.
bool matters(const Tokenizer& target, int id, const Entry& e, const std::string& chat_template) {
    if (target.is_eog(id) || target.vocabulary().bos == id) return true;
    return !e.text.empty() && chat_template.find(e.text) != std::string::npos;
}

}  // namespace

Result<Pairing> pair_vocabularies(const Tokenizer& target, const Tokenizer& draft,
                                  const std::string& chat_template) {
    const Vocabulary& t = target.vocabulary();
    const Vocabulary& d = draft.vocabulary();
    if (t.model != d.model) {
        return fail(Errc::usage, "the vocabularies are of different kinds ('{}' and '{}')", t.model,
                    d.model);
    }
    Pairing out;
    const int n_target = target.vocab_size();
    out.n_common = std::min(n_target, draft.vocab_size());
    int n_text = 0, n_wrong = 0, first_wrong = -1;
    for (int id = 0; id < n_target; ++id) {
        const Entry a = entry(t, id);
        n_text += is_text(a) ? 1 : 0;
        if (id < out.n_common && a.text == entry(d, id).text) continue;
        if (id < out.n_common) out.differing.push_back(id);
        if (a.type == TokenType::control && matters(target, id, a, chat_template)) {
            return fail(Errc::usage, "the control token {} is '{}' in one and '{}' in the other",
                        id, shown(a), id < out.n_common ? shown(entry(d, id)) : "missing");
        }
        if (!is_text(a)) continue;
        ++n_wrong;
        if (first_wrong < 0) first_wrong = id;
    }
    if (n_wrong > kMostDiffering * n_text) {
        return fail(Errc::usage,
                    "{} of {} tokens of text differ, the first one, {}, is '{}' in one and '{}' in "
                    "the other",
                    n_wrong, n_text, first_wrong, shown(entry(t, first_wrong)),
                    first_wrong < out.n_common ? shown(entry(d, first_wrong)) : "missing");
    }
    if (!out.differing.empty()) {
        out.note = fmt::format("{} of {} tokens differ and are never drafted", out.differing.size(),
                               n_target);
    }
    return out;
}

}  // namespace hearth
