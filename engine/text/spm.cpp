#include "engine/text/spm.h"

#include <mutex>

#include <sentencepiece_processor.h>

#include "engine/text/spm_proto.h"
#include "engine/text/token_text.h"
#include "engine/text/utf8.h"

// In the library's common.h, which is not installed. It writes to stderr otherwise.
namespace sentencepiece::logging {
void SetMinLogLevel(int level);
}

namespace hearth {
namespace {

constexpr std::string_view kEscapedSpace = "\xE2\x96\x81";
/// Text goes to the library in calls of about this size, cut where no piece can span.
constexpr std::size_t kCallBytes = std::size_t{1} << 16;
/// Where no such place comes (a run without a space), it is cut after this many bytes.
constexpr std::size_t kMaxCallBytes = std::size_t{1} << 18;

void silence_library() {
    static std::once_flag once;
    std::call_once(once, [] {
        constexpr int kNothingBelow = 1000;  // above its LOG_FATAL
        sentencepiece::logging::SetMinLogLevel(kNothingBelow);
    });
}

bool has_inner_space(const SpmModel::Piece& piece) {
    std::string_view text = piece.text;
    while (text.starts_with(kEscapedSpace)) text.remove_prefix(kEscapedSpace.size());
    const bool matchable = piece.type == TokenType::normal || piece.type == TokenType::unused;
    return matchable && text.find(kEscapedSpace) != std::string_view::npos;
}

}  // namespace

struct Spm::Library {
    sentencepiece::SentencePieceProcessor processor;
};

Spm::Spm() = default;
Spm::~Spm() = default;

Result<std::unique_ptr<Spm>> Spm::make(const Vocabulary& vocabulary,
                                       const std::vector<TokenType>& types,
                                       std::vector<std::string>& warnings) {
    silence_library();
    const SpmModel model = make_spm_model(vocabulary, types);
    auto library = std::make_unique<Library>();
    std::string refused;
    try {
        const auto status = library->processor.LoadFromSerializedProto(serialize(model));
        if (!status.ok()) refused = status.message();
    } catch (const std::exception& error) {
        refused = error.what();
    }
    if (!refused.empty()) {
        return fail(Errc::model_invalid,
                    "{}: the SentencePiece vocabulary cannot be used ({}); convert or download the "
                    "model again",
                    vocabulary.source, printable_token(refused));
    }
    if (!model.byte_fallback) {
        warnings.push_back(
            "the vocabulary has no tokens for single bytes: characters that it lacks are unknown");
    }
    std::unique_ptr<Spm> made(new Spm());
    made->library_ = std::move(library);
    made->byte_ids_.fill(-1);
    made->spaces_begin_pieces_ = true;
    const auto n = static_cast<TokenId>(vocabulary.tokens.size());
    for (TokenId id = 0; id < n; ++id) {
        const auto at = static_cast<std::size_t>(id);
        const auto byte = byte_of_token(vocabulary.tokens[at]);
        if (types[at] == TokenType::byte && byte && made->byte_ids_[*byte] < 0) {
            made->byte_ids_[*byte] = id;
        }
        if (has_inner_space(model.pieces[at])) made->spaces_begin_pieces_ = false;
    }
    // An unknown token that is control in the file must not come from text.
    const bool has_unk = model.unk < n;
    if (has_unk && types[static_cast<std::size_t>(model.unk)] != TokenType::control) {
        made->unk_ = model.unk;
    }
    return made;
}

/// Bytes of the next call's text: all, or up to a place that no piece spans.
std::size_t Spm::cut_before(std::string_view text) const {
    if (text.size() <= kCallBytes) return text.size();
    if (spaces_begin_pieces_) {
        for (std::size_t at = kCallBytes; at < text.size() && at < kMaxCallBytes; ++at) {
            if (text[at] == ' ' && text[at - 1] != ' ' && text[at - 1] != kEscapedSpace.back()) {
                return at;
            }
        }
    }
    return utf8_floor(text, kMaxCallBytes);
}

void Spm::encode_byte(char byte, std::vector<TokenId>& out) const {
    const TokenId id = byte_ids_[static_cast<unsigned char>(byte)];
    const TokenId known = id >= 0 ? id : unk_;
    if (known >= 0) out.push_back(known);
}

void Spm::encode_valid(std::string_view text, std::vector<TokenId>& out) const {
    std::vector<int> ids;
    while (!text.empty()) {
        const std::string_view part = text.substr(0, cut_before(text));
        ids.clear();
        if (!library_->processor.Encode(part, &ids).ok()) {
            // Not known to happen; no byte of the user's text is lost if it does.
            ids.clear();
            for (const char byte : part) encode_byte(byte, out);
        }
        for (const int id : ids) {
            const TokenId known = id == library_->processor.unk_id() ? unk_ : id;
            if (known >= 0) out.push_back(known);
        }
        text.remove_prefix(part.size());
    }
}

void Spm::encode(std::string_view text, std::vector<TokenId>& out) const {
    std::size_t begin = 0, at = 0;
    while (at < text.size()) {
        const std::size_t length = utf8_character(text, at);
        if (length > 0) {
            at += length;
            continue;
        }
        encode_valid(text.substr(begin, at - begin), out);
        encode_byte(text[at], out);
        begin = ++at;
    }
    encode_valid(text.substr(begin), out);
}

std::string Spm::bytes(std::string_view token_text, TokenType) const {
    std::string out;
    for (std::size_t at = 0; at < token_text.size(); ++at) {
        if (token_text.substr(at).starts_with(kEscapedSpace)) {
            out += ' ';
            at += kEscapedSpace.size() - 1;
        } else {
            out += token_text[at];
        }
    }
    return out;
}

}  // namespace hearth
