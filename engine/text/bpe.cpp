#include "engine/text/bpe.h"

#include <algorithm>
#include <bit>

#include "engine/text/byte_alphabet.h"
#include "engine/text/nfc.h"
#include "engine/text/token_text.h"
#include "engine/text/utf8.h"

namespace hearth {
namespace {

/// Longer pieces (one run of letters, spaces or symbols) are cut: memory stays bounded, and no
/// context holds such a run.
constexpr std::size_t kMaxPieceBytes = std::size_t{1} << 20;

constexpr std::uint32_t kNone = 0xFFFFFFFFu;

std::uint64_t pair_key(TokenId left, TokenId right) {
    return (std::uint64_t{static_cast<std::uint32_t>(left)} << 32) |
           static_cast<std::uint32_t>(right);
}

std::size_t hash_pair(std::uint64_t pair) {
    pair ^= pair >> 29;
    pair *= 0x9E3779B97F4A7C15u;
    return static_cast<std::size_t>(pair ^ (pair >> 32));
}

}  // namespace

/// Memory of one encode() call, reused by its pieces. Symbols are a linked list in an array.
struct Bpe::Scratch {
    std::vector<TokenId> ids;
    std::vector<std::uint32_t> previous, next;
    std::vector<std::uint32_t> ranks;  ///< of the pair that begins here; kNone: no merge
    std::vector<std::uint64_t> heap;   ///< rank · 2^32 + position, lowest first
    std::string spelling;
};

Result<std::unique_ptr<Bpe>> Bpe::make(const Vocabulary& vocabulary,
                                       const std::vector<TokenType>& types, const TokenIndex& ids,
                                       const PreTokenizerRow& row,
                                       std::vector<std::string>& warnings) {
    HEARTH_TRY(PreTokenizer splitter, PreTokenizer::make(row));
    std::unique_ptr<Bpe> made(new Bpe(std::move(splitter), row));
    HEARTH_TRY_VOID(made->read_merges(vocabulary, types, ids, warnings));
    made->read_bytes(types, ids);
    if (made->whole_pieces_) {
        made->pieces_ = TokenIndex(vocabulary.tokens.size());
        for (std::size_t i = 0; i < vocabulary.tokens.size(); ++i) {
            const std::string& text = vocabulary.tokens[i];
            const auto id = static_cast<TokenId>(i);
            if (types[i] == TokenType::normal && ids.find(text) == id) made->pieces_.add(text, id);
        }
    }
    return made;
}

Result<void> Bpe::read_merges(const Vocabulary& vocabulary, const std::vector<TokenType>& types,
                              const TokenIndex& ids, std::vector<std::string>& warnings) {
    if (vocabulary.merges.empty()) {
        return fail(Errc::model_invalid,
                    "{}: the byte-level BPE vocabulary has no merges (tokenizer.ggml.merges); "
                    "convert or download the model again",
                    vocabulary.source);
    }
    merges_.resize(std::bit_ceil(vocabulary.merges.size() * 2));
    std::size_t unusable = 0;
    std::string merged;
    for (std::size_t rank = 0; rank < vocabulary.merges.size(); ++rank) {
        const std::string_view text = vocabulary.merges[rank];
        const std::size_t space = text.find(' ', 1);
        if (text.empty() || space == std::string_view::npos || space + 1 == text.size()) {
            return fail(Errc::model_invalid,
                        "{}: merge {} of the vocabulary must be two parts with a space between, "
                        "found \"{}\"",
                        vocabulary.source, rank, printable_token(text));
        }
        const std::string_view left = text.substr(0, space), right = text.substr(space + 1);
        merged.assign(left).append(right);
        const TokenId a = ids.find(left), b = ids.find(right), c = ids.find(merged);
        // Text that merges into a control token would be control: such a merge is not used.
        const bool known = a >= 0 && b >= 0 && c >= 0;
        const TokenType type = known ? types[static_cast<std::size_t>(c)] : TokenType::unknown;
        const bool usable = type != TokenType::control && type != TokenType::unknown;
        if (usable) {
            insert({pair_key(a, b), static_cast<std::uint32_t>(rank), c});
        } else {
            ++unusable;
        }
    }
    if (unusable > 0) {
        warnings.push_back(
            fmt::format("{} of the {} merges name tokens that the vocabulary lacks "
                        "or keeps for control, and are not used",
                        unusable, vocabulary.merges.size()));
    }
    return {};
}

void Bpe::read_bytes(const std::vector<TokenType>& types, const TokenIndex& ids) {
    const auto plain = [&](std::string_view text, TokenType type) {
        const TokenId id = ids.find(text);
        return id >= 0 && types[static_cast<std::size_t>(id)] == type ? id : -1;
    };
    for (unsigned byte = 0; byte < 256; ++byte) {
        TokenId id = plain(byte_alphabet()[byte], TokenType::normal);
        if (id < 0) id = plain(byte_token_text(byte), TokenType::byte);
        byte_ids_[byte] = id;
    }
    const bool spells_replacement =
        byte_ids_[0xEF] >= 0 && byte_ids_[0xBF] >= 0 && byte_ids_[0xBD] >= 0;
    if (!spells_replacement) return;
    Scratch scratch;
    std::vector<TokenId> spelled;
    encode_piece("\xEF\xBF\xBD", scratch, spelled);
    replacement_ = std::move(spelled);
}

void Bpe::insert(const Merge& merge) {
    const std::size_t mask = merges_.size() - 1;
    for (std::size_t slot = hash_pair(merge.pair) & mask;; slot = (slot + 1) & mask) {
        if (merges_[slot].pair == merge.pair) return;  // the first of two equal merges counts
        if (merges_[slot].pair == kNoPair) {
            merges_[slot] = merge;
            return;
        }
    }
}

const Bpe::Merge* Bpe::find(TokenId left, TokenId right) const {
    const std::uint64_t pair = pair_key(left, right);
    const std::size_t mask = merges_.size() - 1;
    for (std::size_t slot = hash_pair(pair) & mask;; slot = (slot + 1) & mask) {
        if (merges_[slot].pair == pair) return &merges_[slot];
        if (merges_[slot].pair == kNoPair) return nullptr;
    }
}

void Bpe::push_pair(Scratch& scratch, std::uint32_t at) const {
    const std::uint32_t right = scratch.next[at];
    const bool whole = right != kNone && scratch.ids[at] >= 0 && scratch.ids[right] >= 0;
    const Merge* merge = whole ? find(scratch.ids[at], scratch.ids[right]) : nullptr;
    scratch.ranks[at] = merge == nullptr ? kNone : merge->rank;
    if (merge == nullptr) return;
    scratch.heap.push_back((std::uint64_t{merge->rank} << 32) | at);
    std::push_heap(scratch.heap.begin(), scratch.heap.end(), std::greater<>());
}

void Bpe::merge_all(Scratch& scratch) const {
    const auto n = static_cast<std::uint32_t>(scratch.ids.size());
    scratch.previous.resize(n);
    scratch.next.resize(n);
    scratch.ranks.assign(n, kNone);
    scratch.heap.clear();
    for (std::uint32_t i = 0; i < n; ++i) {
        scratch.previous[i] = i == 0 ? kNone : i - 1;
        scratch.next[i] = i + 1 == n ? kNone : i + 1;
    }
    for (std::uint32_t i = 0; i + 1 < n; ++i) push_pair(scratch, i);
    while (!scratch.heap.empty()) {
        const std::uint64_t entry = scratch.heap.front();
        std::pop_heap(scratch.heap.begin(), scratch.heap.end(), std::greater<>());
        scratch.heap.pop_back();
        const auto rank = static_cast<std::uint32_t>(entry >> 32);
        const auto at = static_cast<std::uint32_t>(entry);
        if (scratch.ranks[at] != rank) continue;  // the pair changed since it was pushed
        const std::uint32_t right = scratch.next[at];
        scratch.ids[at] = find(scratch.ids[at], scratch.ids[right])->merged;
        scratch.ranks[right] = kNone;
        scratch.next[at] = scratch.next[right];
        if (scratch.next[at] != kNone) scratch.previous[scratch.next[at]] = at;
        push_pair(scratch, at);
        if (scratch.previous[at] != kNone) push_pair(scratch, scratch.previous[at]);
    }
}

void Bpe::encode_piece(std::string_view piece, Scratch& scratch, std::vector<TokenId>& out) const {
    if (whole_pieces_) {
        scratch.spelling.clear();
        for (const char c : piece)
            scratch.spelling += byte_alphabet()[static_cast<unsigned char>(c)];
        const TokenId whole = pieces_.find(scratch.spelling);
        if (whole >= 0) {
            out.push_back(whole);
            return;
        }
    }
    scratch.ids.clear();
    for (const char c : piece) scratch.ids.push_back(byte_ids_[static_cast<unsigned char>(c)]);
    merge_all(scratch);
    for (std::uint32_t at = 0; at != kNone; at = scratch.next[at]) {
        if (scratch.ids[at] >= 0) {
            out.push_back(scratch.ids[at]);
        } else {
            out.insert(out.end(), replacement_.begin(), replacement_.end());
        }
    }
}

void Bpe::encode(std::string_view text, std::vector<TokenId>& out) const {
    Scratch scratch;
    std::string normalised;
    if (nfc_) text = nfc(text, normalised);
    splitter_.split(text, [&](std::string_view piece) {
        while (piece.size() > kMaxPieceBytes) {
            const std::size_t cut = utf8_floor(piece, kMaxPieceBytes);
            encode_piece(piece.substr(0, cut), scratch, out);
            piece.remove_prefix(cut);
        }
        if (!piece.empty()) encode_piece(piece, scratch, out);
    });
}

std::string Bpe::bytes(std::string_view token_text, TokenType type) const {
    if (type == TokenType::user_defined) return std::string(token_text);
    return spelled_bytes(token_text);
}

}  // namespace hearth
