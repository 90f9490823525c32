#include "engine/cache/kv_record.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>

#define XXH_STATIC_LINKING_ONLY  // the state on the stack
#include <xxhash.h>

#include "engine/base/check.h"

namespace hearth {

static_assert(std::endian::native == std::endian::little, "records are read and written in place");

namespace {

constexpr char kMagic[9] = "HEARTHKV";
constexpr std::size_t kNameBytes = 48, kTokensAt = 128;
constexpr std::size_t kHeaderHashAt = kRecordHeaderBytes - sizeof(Hash128);
static_assert(kTokensAt + kBlockTokens * 4 + kBlockPages * 16 <= kHeaderHashAt);

Hash128 from(const XXH128_hash_t& h) { return {h.high64, h.low64}; }

template <typename T>
void put(std::vector<std::uint8_t>& to, std::size_t at, const T& value) {
    std::memcpy(to.data() + at, &value, sizeof value);
}

template <typename T>
T get(std::span<const std::uint8_t> from, std::size_t at) {
    T value;
    HEARTH_CHECK(at + sizeof value <= from.size());
    std::memcpy(&value, from.data() + at, sizeof value);
    return value;
}

/// xxh3-128 over plain values, one after the other.
class Hasher {
  public:
    Hasher() { XXH3_128bits_reset(&state_); }
    template <typename T>
    Hasher& add(T value) {
        static_assert(std::is_arithmetic_v<T>);
        XXH3_128bits_update(&state_, &value, sizeof value);
        return *this;
    }
    Hasher& add_text(std::string_view text) {
        add<std::uint64_t>(text.size());
        XXH3_128bits_update(&state_, text.data(), text.size());
        return *this;
    }
    Hash128 digest() const { return from(XXH3_128bits_digest(&state_)); }

  private:
    XXH3_state_t state_;
};

/// A name that fits, cut between characters.
std::string short_name(std::string_view name) {
    std::size_t n = std::min(name.size(), kNameBytes);
    while (n < name.size() && n > 0 && (static_cast<unsigned char>(name[n]) & 0xC0) == 0x80) --n;
    return std::string(name.substr(0, n));
}

bool read_hex(std::string_view digits, std::uint64_t& value) {
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    const bool is_lower =
        std::none_of(digits.begin(), digits.end(), [](char c) { return c >= 'A' && c <= 'F'; });
    return error == std::errc{} && end == digits.data() + digits.size() && is_lower;
}

}  // namespace

std::string hex(const Hash128& h) { return fmt::format("{:016x}{:016x}", h.high, h.low); }

Hash128 hash_bytes(std::span<const std::uint8_t> bytes) {
    return from(XXH3_128bits(bytes.data(), bytes.size()));
}

Hash128 kv_identity(const Model& model, DType kv_type, std::string_view backend) {
    const ModelConfig& c = model.config;
    Hasher h;
    h.add(kRecordVersion).add(kNumericRevision).add(kPageTokens).add(kBlockTokens);
    h.add_text(backend).add_text(dtype_info(kv_type).name);
    h.add_text(model.file->content_hash());
    h.add_text(model.tokenizer != nullptr ? model.tokenizer->hash() : "");
    h.add_text(c.family).add(c.n_layers).add(c.hidden_size).add(c.embedding_scale);
    // The file's content decides these, too, but for LongRoPE's list: the context chooses it.
    for (const AttentionSpec& a : c.attention) {
        h.add(a.n_heads).add(a.n_kv_heads).add(a.head_dim).add(a.scale).add(a.softcap);
        h.add(a.window).add(static_cast<int>(a.rope.pairing)).add(a.rope.n_dims);
        h.add(a.rope.magnitude).add<std::uint64_t>(a.rope.inv_freq.size());
        for (const double f : a.rope.inv_freq) h.add(f);
    }
    return h.digest();
}

Hash128 chain_hash(const Hash128& before, std::span<const std::int32_t> tokens) {
    Hasher h;
    h.add(before.high).add(before.low);
    for (const std::int32_t t : tokens) h.add(t);
    return h.digest();
}

std::vector<std::uint8_t> write_record_header(const RecordHeader& header) {
    const std::size_t n = header.tokens.size();
    HEARTH_CHECK(n >= 1 && n <= kBlockTokens);
    HEARTH_CHECK(header.page_hashes.size() == (n + kPageTokens - 1) / kPageTokens);
    std::vector<std::uint8_t> out(kRecordHeaderBytes);
    std::memcpy(out.data(), kMagic, 8);
    put(out, 8, kRecordVersion);
    put(out, 12, static_cast<std::uint32_t>(kRecordHeaderBytes));
    put(out, 16, header.identity);
    put(out, 32, header.parent);
    put(out, 48, header.own);
    put(out, 64, header.first);
    put(out, 68, static_cast<std::uint32_t>(n));
    put(out, 72, static_cast<std::uint32_t>(header.page_hashes.size()));
    put(out, 76, header.page_bytes);
    const std::string name = short_name(header.model_name);
    std::memcpy(out.data() + 80, name.data(), name.size());
    std::memcpy(out.data() + kTokensAt, header.tokens.data(), 4 * n);
    std::memcpy(out.data() + kTokensAt + 4 * n, header.page_hashes.data(),
                header.page_hashes.size() * sizeof(Hash128));
    put(out, kHeaderHashAt, hash_bytes(std::span(out).first(kHeaderHashAt)));
    return out;
}

Result<RecordHeader> parse_record_header(std::span<const std::uint8_t> bytes,
                                         std::int64_t file_bytes) {
    if (bytes.size() < kRecordHeaderBytes) {
        return fail(Errc::failed, "{} bytes are there, a record begins with {}", bytes.size(),
                    kRecordHeaderBytes);
    }
    bytes = bytes.first(kRecordHeaderBytes);
    if (std::memcmp(bytes.data(), kMagic, 8) != 0) return fail(Errc::failed, "it is no record");
    if (const auto version = get<std::uint32_t>(bytes, 8); version != kRecordVersion) {
        return fail(Errc::failed, "its format version is {}, this program reads {}", version,
                    kRecordVersion);
    }
    if (get<Hash128>(bytes, kHeaderHashAt) != hash_bytes(bytes.first(kHeaderHashAt))) {
        return fail(Errc::failed, "the checksum of its header is wrong");
    }
    RecordHeader h;
    h.identity = get<Hash128>(bytes, 16);
    h.parent = get<Hash128>(bytes, 32);
    h.own = get<Hash128>(bytes, 48);
    h.first = get<std::int32_t>(bytes, 64);
    const auto n = get<std::uint32_t>(bytes, 68), n_pages = get<std::uint32_t>(bytes, 72);
    h.page_bytes = get<std::uint32_t>(bytes, 76);
    if (n < 1 || n > kBlockTokens || n_pages != (n + kPageTokens - 1) / kPageTokens ||
        h.first < 0 || h.first % kBlockTokens != 0 || h.page_bytes == 0 ||
        get<std::uint32_t>(bytes, 12) != kRecordHeaderBytes) {
        return fail(Errc::failed, "{} tokens at {} on {} pages of {} bytes cannot be", n, h.first,
                    n_pages, h.page_bytes);
    }
    const char* name = reinterpret_cast<const char*>(bytes.data() + 80);
    h.model_name.assign(name, ::strnlen(name, kNameBytes));
    h.tokens.resize(n);
    std::memcpy(h.tokens.data(), bytes.data() + kTokensAt, 4 * n);
    h.page_hashes.resize(n_pages);
    std::memcpy(h.page_hashes.data(), bytes.data() + kTokensAt + 4 * n, n_pages * sizeof(Hash128));
    if (h.file_bytes() != file_bytes) {
        return fail(Errc::failed, "the file has {} bytes, its header says {}", file_bytes,
                    h.file_bytes());
    }
    if (chain_hash(h.parent, h.tokens) != h.own) {
        return fail(Errc::failed, "its tokens do not give its hash");
    }
    return h;
}

std::string RecordName::file() const {
    return fmt::format("{:016x}-{}-{:03x}.kv", parent, hex(own), n_tokens);
}

std::optional<RecordName> RecordName::parse(std::string_view file) {
    if (file.size() != 16 + 1 + 32 + 1 + 3 + 3 || file.substr(53) != ".kv") return std::nullopt;
    RecordName name;
    std::uint64_t n = 0;
    if (file[16] != '-' || file[49] != '-' || !read_hex(file.substr(0, 16), name.parent) ||
        !read_hex(file.substr(17, 16), name.own.high) ||
        !read_hex(file.substr(33, 16), name.own.low) || !read_hex(file.substr(50, 3), n) || n < 1 ||
        n > kBlockTokens) {
        return std::nullopt;
    }
    name.n_tokens = static_cast<int>(n);
    return name;
}

}  // namespace hearth
