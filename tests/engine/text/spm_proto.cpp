#include "tests/engine/text/spm_proto.h"

#include <algorithm>
#include <array>
#include <bit>

#include <fmt/format.h>

#include "engine/text/token_index.h"
#include "engine/text/token_text.h"
#include "engine/text/utf8.h"

namespace hearth::test {
namespace {

// Field numbers of sentencepiece_model.proto.
constexpr int kModelPieces = 1, kModelTrainer = 2, kModelNormalizer = 3;
constexpr int kPieceText = 1, kPieceScore = 2, kPieceType = 3;
constexpr int kTrainerModelType = 3, kTrainerVocabSize = 4, kTrainerByteFallback = 35;
constexpr int kTrainerUnkId = 40, kTrainerBosId = 41, kTrainerEosId = 42, kTrainerPadId = 43;
constexpr int kNormalizerName = 1, kNormalizerPrefix = 3, kNormalizerSqueeze = 4,
              kNormalizerEscape = 5;
constexpr std::uint64_t kModelTypeBpe = 2;

void put_varint(std::string& out, std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) out += static_cast<char>((value & 0x7F) | 0x80);
    out += static_cast<char>(value);
}

void put_int(std::string& out, int field, std::uint64_t value) {
    put_varint(out, static_cast<std::uint64_t>(field) << 3);
    put_varint(out, value);
}

void put_bytes(std::string& out, int field, std::string_view bytes) {
    put_varint(out, (static_cast<std::uint64_t>(field) << 3) | 2);
    put_varint(out, bytes.size());
    out += bytes;
}

void put_float(std::string& out, int field, float value) {
    put_varint(out, (static_cast<std::uint64_t>(field) << 3) | 5);
    const auto bits = std::bit_cast<std::uint32_t>(value);
    for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>((bits >> shift) & 0xFF);
}

bool is_utf8_without_nul(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t length = utf8_character(text, at);
        if (length == 0 || text[at] == '\0') return false;
        at += length;
    }
    return true;
}

/// The library writes a space as U+2581; some files keep the space.
std::string escaped(std::string_view text) {
    if (text.find(' ') == std::string_view::npos) return std::string(text);
    std::string out;
    for (const char c : text) {
        if (c == ' ') {
            out += "\xE2\x96\x81";
        } else {
            out += c;
        }
    }
    return out;
}

}  // namespace

SpmModel make_spm_model(const Vocabulary& vocabulary, const std::vector<TokenType>& types) {
    SpmModel model;
    model.squeeze_spaces = vocabulary.remove_extra_whitespaces.value_or(false);
    if (vocabulary.unk) model.unk = *vocabulary.unk;
    model.pieces.reserve(vocabulary.tokens.size() + 1);  // `seen` points into it
    TokenIndex seen(vocabulary.tokens.size());
    std::array<bool, 256> bytes{};
    for (std::size_t i = 0; i < vocabulary.tokens.size(); ++i) {
        SpmModel::Piece& piece = model.pieces.emplace_back();
        piece.text = escaped(vocabulary.tokens[i]);
        piece.score = vocabulary.scores[i];
        piece.type = types[i];
        if (piece.type == TokenType::unknown && model.unk < 0) model.unk = static_cast<TokenId>(i);
        if (piece.type == TokenType::byte) {
            const auto byte = byte_of_token(vocabulary.tokens[i]);
            piece.text = byte_token_text(byte.value_or(0));  // the library wants upper case
            bytes[byte.value_or(0)] = true;
        }
        const bool matchable = piece.type == TokenType::normal || piece.type == TokenType::unused ||
                               piece.type == TokenType::byte;
        // A control piece that spells one character would make the library refuse that character.
        const bool known_to_library = matchable && !piece.text.empty() &&
                                      is_utf8_without_nul(piece.text) &&
                                      seen.add(piece.text, static_cast<TokenId>(i));
        if (!known_to_library) piece = {fmt::format("\x01{}", i), 0, TokenType::control};
    }
    model.byte_fallback = std::all_of(bytes.begin(), bytes.end(), [](bool b) { return b; });
    if (!model.byte_fallback) {
        for (auto& piece : model.pieces) {
            if (piece.type == TokenType::byte) piece.type = TokenType::control;
        }
    }
    if (model.unk < 0) {
        model.unk = static_cast<TokenId>(model.pieces.size());
        model.pieces.push_back({"\x01unk", 0, TokenType::unknown});
    }
    model.pieces[static_cast<std::size_t>(model.unk)].type = TokenType::unknown;
    return model;
}

std::string serialize(const SpmModel& model) {
    constexpr std::uint64_t kNoId = ~std::uint64_t{0};  // -1 as a varint
    constexpr std::size_t kPieceBytes = 24;             // about, for the room to reserve
    std::string out, part;
    out.reserve(model.pieces.size() * kPieceBytes);
    for (const SpmModel::Piece& piece : model.pieces) {
        part.clear();
        put_bytes(part, kPieceText, piece.text);
        put_float(part, kPieceScore, piece.score);
        put_int(part, kPieceType, static_cast<std::uint64_t>(piece.type));
        put_bytes(out, kModelPieces, part);
    }
    part.clear();
    put_int(part, kTrainerModelType, kModelTypeBpe);
    put_int(part, kTrainerVocabSize, model.pieces.size());
    put_int(part, kTrainerByteFallback, model.byte_fallback ? 1 : 0);
    put_int(part, kTrainerUnkId, static_cast<std::uint64_t>(model.unk));
    for (const int field : {kTrainerBosId, kTrainerEosId, kTrainerPadId})
        put_int(part, field, kNoId);
    put_bytes(out, kModelTrainer, part);
    part.clear();
    put_bytes(part, kNormalizerName, "identity");
    put_int(part, kNormalizerPrefix, 0);  // the tokenizer puts it: once per run, not per call
    put_int(part, kNormalizerSqueeze, model.squeeze_spaces ? 1 : 0);
    put_int(part, kNormalizerEscape, 1);
    put_bytes(out, kModelNormalizer, part);
    return out;
}

}  // namespace hearth::test
