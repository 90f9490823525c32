#pragma once
// A second SentencePiece BPE, written from the algorithm (Kudo & Richardson 2018; merges by score):
// the oracle of spm_test.cpp. Quadratic, plain, shares no code with the library.

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/text/spm_proto.h"
#include "engine/text/token_text.h"
#include "engine/text/utf8.h"

namespace hearth::test {

class OwnSpm {
  public:
    explicit OwnSpm(const SpmModel& model) : model_(model) {
        for (std::size_t i = 0; i < model.pieces.size(); ++i) {
            const auto& piece = model.pieces[i];
            const auto id = static_cast<TokenId>(i);
            if (piece.type == TokenType::normal || piece.type == TokenType::unused) {
                ids_[piece.text] = id;
            }
            if (piece.type == TokenType::byte) bytes_[*byte_of_token(piece.text)] = id;
        }
    }

    /// Ids of valid UTF-8 in which spaces are spaces; -1 for what the vocabulary cannot say.
    std::vector<TokenId> encode(std::string_view text) const {
        std::vector<std::string> symbols;
        for (std::size_t at = 0; at < text.size();) {
            const std::size_t length = utf8_character(text, at);
            symbols.emplace_back(text[at] == ' ' ? "\xE2\x96\x81" : text.substr(at, length));
            at += length;
        }
        std::unordered_map<std::string, std::pair<std::string, std::string>> parts;
        for (;;) {
            std::size_t best = symbols.size();
            float best_score = 0;
            for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
                const auto found = ids_.find(symbols[i] + symbols[i + 1]);
                if (found == ids_.end()) continue;
                const float score = model_.pieces[static_cast<std::size_t>(found->second)].score;
                if (best == symbols.size() || score > best_score) {
                    best = i;
                    best_score = score;
                }
            }
            if (best == symbols.size()) break;
            std::string merged = symbols[best] + symbols[best + 1];
            parts[merged] = {symbols[best], symbols[best + 1]};
            symbols[best] = std::move(merged);
            symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(best) + 1);
        }
        std::vector<TokenId> out;
        for (const std::string& symbol : symbols) emit(symbol, parts, out);
        return out;
    }

  private:
    using Parts = std::unordered_map<std::string, std::pair<std::string, std::string>>;

    /// Unused pieces fall back into what they were merged from.
    void emit(const std::string& symbol, const Parts& parts, std::vector<TokenId>& out) const {
        const auto found = ids_.find(symbol);
        const bool used =
            found != ids_.end() &&
            model_.pieces[static_cast<std::size_t>(found->second)].type == TokenType::normal;
        const auto split = parts.find(symbol);
        if (used) {
            out.push_back(found->second);
        } else if (found != ids_.end() && split != parts.end()) {
            emit(split->second.first, parts, out);
            emit(split->second.second, parts, out);
        } else if (found != ids_.end()) {
            out.push_back(found->second);  // an unused single character has nothing to fall into
        } else {
            for (const char c : symbol) {
                const auto byte = bytes_.find(static_cast<unsigned char>(c));
                out.push_back(byte == bytes_.end() ? -1 : byte->second);
            }
        }
    }

    const SpmModel& model_;
    std::unordered_map<std::string, TokenId> ids_;
    std::unordered_map<unsigned char, TokenId> bytes_;
};

}  // namespace hearth::test
