#include "engine/model/gguf.h"

#include <bit>
#include <cstring>
#include <unordered_set>

namespace hearth {

namespace {

constexpr std::uint64_t kMaxString = std::uint64_t{1} << 30;
constexpr std::uint64_t kMaxArray = std::uint64_t{1} << 30;
constexpr std::uint64_t kMaxKeyBytes = 65535;
constexpr std::uint64_t kMaxNameBytes = 63;
constexpr std::uint64_t kMaxAlignment = std::uint64_t{1} << 20;
constexpr std::size_t kMinKeyBytes = 8 + 4 + 1;  ///< the smallest key: empty name, one byte
constexpr std::size_t kMinRecordBytes = 8 + 4 + 8 + 4 + 8;

/// Reads forward; every read is checked against the bytes that remain.
class Cursor {
  public:
    Cursor(std::span<const std::uint8_t> bytes, const std::string& where)
        : bytes_(bytes),
          where_(where) {}

    std::size_t at() const { return at_; }
    std::size_t remaining() const { return bytes_.size() - at_; }
    const std::string& where() const { return where_; }

    template <typename T>
    Result<T> scalar(std::string_view what) {
        HEARTH_TRY(const auto raw, take(sizeof(T), what));
        T v;
        std::memcpy(&v, raw.data(), sizeof(T));
        return v;
    }

    Result<std::span<const std::uint8_t>> take(std::uint64_t n, std::string_view what) {
        if (n > remaining()) {
            return fail(Errc::model_invalid,
                        "{}: file is incomplete or damaged: {} at byte {} needs {} bytes, {} are "
                        "left",
                        where_, what, at_, n, remaining());
        }
        const auto out = bytes_.subspan(at_, static_cast<std::size_t>(n));
        at_ += static_cast<std::size_t>(n);
        return out;
    }

    Result<std::string_view> text(std::string_view what, std::uint64_t limit) {
        const std::size_t start = at_;
        HEARTH_TRY(const auto n, scalar<std::uint64_t>(what));
        if (n > limit) {
            return fail(Errc::model_invalid,
                        "{}: {} at byte {} claims {} bytes, at most {} are allowed", where_, what,
                        start, n, limit);
        }
        HEARTH_TRY(const auto raw, take(n, what));
        return std::string_view(reinterpret_cast<const char*>(raw.data()), raw.size());
    }

  private:
    std::span<const std::uint8_t> bytes_;
    const std::string& where_;
    std::size_t at_ = 0;
};

// --- keys -----------------------------------------------------------------------------------

Result<GgufType> read_type(Cursor& in, std::string_view key) {
    HEARTH_TRY(const auto id, in.scalar<std::uint32_t>("the type of a key"));
    if (id >= kNumGgufTypes) {
        return fail(Errc::model_invalid,
                    "{}: key '{}' has the unknown value type {}, expected 0-12", in.where(),
                    printable(key), id);
    }
    return static_cast<GgufType>(id);
}

Result<void> check_bools(Cursor& in, const GgufKey& key) {
    for (const std::uint8_t b : key.bytes) {
        if (b > 1) {
            return fail(Errc::model_invalid, "{}: key '{}' holds the boolean {}, expected 0 or 1",
                        in.where(), printable(key.name), b);
        }
    }
    return {};
}

Result<void> read_array(Cursor& in, GgufKey& key) {
    HEARTH_TRY(key.element, read_type(in, key.name));
    HEARTH_TRY(key.count, in.scalar<std::uint64_t>("the length of an array"));
    if (key.element == GgufType::array) {
        return fail(Errc::model_invalid,
                    "{}: key '{}' is an array of arrays, which no model file needs", in.where(),
                    printable(key.name));
    }
    const bool texts = key.element == GgufType::text;
    const std::size_t each = texts ? 8 : gguf_scalar_bytes(key.element);
    if (key.count > kMaxArray || key.count > in.remaining() / each) {
        return fail(Errc::model_invalid,
                    "{}: file is incomplete or damaged: the array '{}' claims {} elements, {} "
                    "bytes are left",
                    in.where(), printable(key.name), key.count, in.remaining());
    }
    if (!texts) {
        HEARTH_TRY(key.bytes, in.take(key.count * each, "an array"));
        return {};
    }
    Cursor start = in;
    const std::size_t first = in.at();
    for (std::uint64_t i = 0; i < key.count; ++i) {
        HEARTH_TRY_VOID(in.text("a string of an array", kMaxString));
    }
    HEARTH_TRY(key.bytes, start.take(in.at() - first, "an array"));
    return {};
}

Result<GgufKey> read_key(Cursor& in) {
    GgufKey key;
    HEARTH_TRY(key.name, in.text("the name of a key", kMaxKeyBytes));
    if (key.name.empty()) {
        return fail(Errc::model_invalid, "{}: the key before byte {} has no name", in.where(),
                    in.at());
    }
    HEARTH_TRY(key.type, read_type(in, key.name));
    if (key.type == GgufType::array) {
        HEARTH_TRY_VOID(read_array(in, key));
    } else if (key.type == GgufType::text) {
        HEARTH_TRY(const auto text, in.text("a string", kMaxString));
        key.bytes = {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
    } else {
        HEARTH_TRY(key.bytes, in.take(gguf_scalar_bytes(key.type), "the value of a key"));
    }
    const bool bools = key.type == GgufType::boolean ||
                       (key.type == GgufType::array && key.element == GgufType::boolean);
    if (bools) HEARTH_TRY_VOID(check_bools(in, key));
    return key;
}

Result<std::uint64_t> alignment_of(const GgufDirectory& d, const std::string& where) {
    for (const GgufKey& key : d.keys) {
        if (key.name != "general.alignment") continue;
        if (key.type != GgufType::u32) {
            return fail(Errc::model_invalid,
                        "{}: general.alignment is {}, expected a 32-bit unsigned integer", where,
                        gguf_type_name(key.type));
        }
        std::uint32_t v = 0;
        std::memcpy(&v, key.bytes.data(), 4);
        if (v < 8 || v > kMaxAlignment || !std::has_single_bit(v)) {
            return fail(Errc::model_invalid,
                        "{}: general.alignment is {}, expected a power of two from 8 to {}", where,
                        v, kMaxAlignment);
        }
        return v;
    }
    return std::uint64_t{32};
}

// --- tensors --------------------------------------------------------------------------------

struct OtherType {
    std::uint32_t id;
    std::string_view name;
};
/// Types that were withdrawn from the format.
constexpr OtherType kRemoved[] = {
    {4, "Q4_2"},      {5, "Q4_3"},        {31, "Q4_0_4_4"},   {32, "Q4_0_4_8"},
    {33, "Q4_0_8_8"}, {36, "IQ4_NL_4_4"}, {37, "IQ4_NL_4_8"}, {38, "IQ4_NL_8_8"},
};
/// Types that exist and are not supported here.
constexpr OtherType kUnsupported[] = {
    {9, "Q8_1"},   {15, "Q8_K"},  {16, "IQ2_XXS"}, {17, "IQ2_XS"}, {18, "IQ3_XXS"}, {19, "IQ1_S"},
    {21, "IQ3_S"}, {22, "IQ2_S"}, {24, "I8"},      {25, "I16"},    {26, "I32"},     {27, "I64"},
    {28, "F64"},   {29, "IQ1_M"}, {34, "TQ1_0"},   {35, "TQ2_0"},  {40, "NVFP4"},
};

std::string supported_types() {
    std::string out;
    for (int i = 0; i < kNumDTypes; ++i) {
        if (!out.empty()) out += ' ';
        out += dtype_info(static_cast<DType>(i)).name;
    }
    return out;
}

Result<DType> read_dtype(Cursor& in, std::string_view tensor) {
    HEARTH_TRY(const auto id, in.scalar<std::uint32_t>("the type of a tensor"));
    if (const auto dtype = dtype_from_gguf(id)) return *dtype;
    for (const OtherType& t : kRemoved) {
        if (t.id != id) continue;
        return fail(Errc::model_invalid,
                    "{}: tensor '{}' has the type {}, which was removed from the format; a newer "
                    "conversion of the model is needed",
                    in.where(), printable(tensor), t.name);
    }
    std::string name = fmt::format("number {}", id);
    for (const OtherType& t : kUnsupported) {
        if (t.id == id) name = t.name;
    }
    return fail(Errc::model_invalid,
                "{}: tensor '{}' has the type {}, which is not supported; supported are {}",
                in.where(), printable(tensor), name, supported_types());
}

/// Fills shape and the view's rows and cols; the product fits 63 bits.
Result<void> read_shape(Cursor& in, TensorInfo& t) {
    HEARTH_TRY(const auto n_dims, in.scalar<std::uint32_t>("the rank of a tensor"));
    if (n_dims < 1 || n_dims > 4) {
        return fail(Errc::model_invalid, "{}: tensor '{}' has {} dimensions, expected 1 to 4",
                    in.where(), printable(t.name), n_dims);
    }
    t.view.rows = 1;
    for (std::uint32_t i = 0; i < n_dims; ++i) {
        HEARTH_TRY(const auto n, in.scalar<std::int64_t>("a dimension of a tensor"));
        if (n < 1) {
            return fail(Errc::model_invalid,
                        "{}: dimension {} of tensor '{}' is {}, expected at least 1", in.where(), i,
                        printable(t.name), n);
        }
        t.shape.push_back(n);
        if (i == 0) {
            t.view.cols = n;
        } else if (__builtin_mul_overflow(t.view.rows, n, &t.view.rows)) {
            return fail(Errc::model_invalid, "{}: the size of tensor '{}' overflows 64 bits",
                        in.where(), printable(t.name));
        }
    }
    return {};
}

Result<std::int64_t> tensor_bytes(Cursor& in, const TensorInfo& t) {
    const DTypeInfo info = dtype_info(t.view.dtype);
    if (t.view.cols % info.block_elems != 0) {
        return fail(Errc::model_invalid,
                    "{}: rows of tensor '{}' have {} elements, expected a multiple of {} for {}",
                    in.where(), printable(t.name), t.view.cols, info.block_elems, info.name);
    }
    std::int64_t bytes = 0;
    std::int64_t elements = 0;
    const bool overflow =
        __builtin_mul_overflow(t.view.cols, t.view.rows, &elements) ||
        __builtin_mul_overflow(t.view.cols / info.block_elems, info.block_bytes, &bytes) ||
        __builtin_mul_overflow(bytes, t.view.rows, &bytes);
    if (overflow) {
        return fail(Errc::model_invalid, "{}: the size of tensor '{}' overflows 64 bits",
                    in.where(), printable(t.name));
    }
    return bytes;
}

/// Where the data section stands while its records are read.
struct Extent {
    std::uint64_t alignment = 32;
    std::uint64_t padded = 0;  ///< running sum of padded sizes
    std::uint64_t end = 0;     ///< end of the last tensor, unpadded
};

/// Reads a record; the view's data is the offset until the section's start is known.
Result<std::uint64_t> read_record(Cursor& in, TensorInfo& t, Extent& extent) {
    HEARTH_TRY(const auto name, in.text("the name of a tensor", kMaxString));
    if (name.empty() || name.size() > kMaxNameBytes) {
        return fail(Errc::model_invalid,
                    "{}: the name of tensor '{}' has {} bytes, expected 1 to {}", in.where(),
                    printable(name), name.size(), kMaxNameBytes);
    }
    t.name = name;
    HEARTH_TRY_VOID(read_shape(in, t));
    HEARTH_TRY(t.view.dtype, read_dtype(in, t.name));
    HEARTH_TRY(const auto offset, in.scalar<std::uint64_t>("the offset of a tensor"));
    HEARTH_TRY(const auto bytes, tensor_bytes(in, t));
    if (offset % extent.alignment != 0) {
        return fail(Errc::model_invalid,
                    "{}: the offset {} of tensor '{}' is not a multiple of the alignment {}",
                    in.where(), offset, printable(t.name), extent.alignment);
    }
    if (offset != extent.padded) {
        return fail(Errc::model_invalid,
                    "{}: tensor '{}' begins at {} of the data, expected {} right after the tensor "
                    "before it",
                    in.where(), printable(t.name), offset, extent.padded);
    }
    const bool overflow =
        __builtin_add_overflow(offset, static_cast<std::uint64_t>(bytes), &extent.end) ||
        __builtin_add_overflow(extent.end, extent.alignment - 1, &extent.padded);
    if (overflow || extent.padded > (std::uint64_t{1} << 62)) {
        return fail(Errc::model_invalid, "{}: the end of tensor '{}' overflows 64 bits", in.where(),
                    printable(t.name));
    }
    extent.padded = extent.padded / extent.alignment * extent.alignment;
    return offset;
}

// --- the whole ------------------------------------------------------------------------------

Result<void> check_magic(Cursor& in, std::span<const std::uint8_t> bytes) {
    if (bytes.size() < 4 || std::memcmp(bytes.data(), "GGUF", 4) != 0) {
        const std::string_view found(reinterpret_cast<const char*>(bytes.data()),
                                     bytes.size() < 4 ? bytes.size() : 4);
        return fail(Errc::model_invalid,
                    "{}: is not a GGUF model file: expected 'GGUF' in its first 4 bytes, found "
                    "'{}'",
                    in.where(), printable(found));
    }
    HEARTH_TRY_VOID(in.take(4, "the header"));
    HEARTH_TRY(const auto version, in.scalar<std::uint32_t>("the version"));
    if (version != 0 && (version & 0xffffu) == 0) {
        return fail(Errc::model_invalid,
                    "{}: is a big-endian GGUF file, which is not supported; convert it to "
                    "little-endian",
                    in.where());
    }
    if (version < 2) {
        return fail(Errc::model_invalid,
                    "{}: GGUF version {} is too old, expected 2 or 3; a newer conversion of the "
                    "model is needed",
                    in.where(), version);
    }
    if (version > 3) {
        return fail(Errc::model_invalid,
                    "{}: GGUF version {} is newer than this program, which reads 2 and 3",
                    in.where(), version);
    }
    return {};
}

Result<void> check_count(Cursor& in, std::uint64_t n, std::size_t each, std::string_view what) {
    if (n <= in.remaining() / each) return {};
    return fail(Errc::model_invalid,
                "{}: file is incomplete or damaged: its header claims {} {}, which do not fit in "
                "the {} bytes that follow",
                in.where(), n, what, in.remaining());
}

/// The bytes after the last tensor: padding only. A second file there is the usual mistake.
Result<void> check_tail(std::span<const std::uint8_t> bytes, std::uint64_t end,
                        std::uint64_t alignment, const std::string& where) {
    const std::uint64_t padded = (end + alignment - 1) / alignment * alignment;
    for (const std::uint64_t at : {end, padded}) {
        if (at + 4 <= bytes.size() && std::memcmp(bytes.data() + at, "GGUF", 4) == 0) {
            return fail(Errc::model_invalid,
                        "{}: a second GGUF file begins at byte {}: parts joined with cat cannot be "
                        "read; keep them as separate files",
                        where, at);
        }
    }
    if (bytes.size() > padded) {
        return fail(Errc::model_invalid,
                    "{}: {} bytes follow the last tensor, expected the file to end at byte {}",
                    where, bytes.size() - padded, padded);
    }
    return {};
}

Result<Extent> read_records(Cursor& in, GgufDirectory& d, std::uint64_t n, std::uint64_t alignment,
                            std::vector<std::uint64_t>& offsets) {
    Extent extent{alignment, 0, 0};
    d.tensors.resize(n);
    offsets.reserve(n);
    std::unordered_set<std::string_view> names;
    for (TensorInfo& t : d.tensors) {
        HEARTH_TRY(const auto offset, read_record(in, t, extent));
        offsets.push_back(offset);
        if (!names.insert(t.name).second) {
            return fail(Errc::model_invalid, "{}: there are two tensors named '{}'", in.where(),
                        printable(t.name));
        }
    }
    return extent;
}

}  // namespace

Result<GgufDirectory> read_gguf(std::span<const std::uint8_t> bytes, const std::string& where) {
    Cursor in(bytes, where);
    HEARTH_TRY_VOID(check_magic(in, bytes));
    HEARTH_TRY(const auto n_tensors, in.scalar<std::uint64_t>("the tensor count"));
    HEARTH_TRY(const auto n_keys, in.scalar<std::uint64_t>("the key count"));
    HEARTH_TRY_VOID(check_count(in, n_keys, kMinKeyBytes, "keys"));
    HEARTH_TRY_VOID(check_count(in, n_tensors, kMinRecordBytes, "tensors"));

    GgufDirectory d;
    std::unordered_set<std::string_view> names;
    for (std::uint64_t i = 0; i < n_keys; ++i) {
        HEARTH_TRY(GgufKey key, read_key(in));
        if (!names.insert(key.name).second) {
            return fail(Errc::model_invalid, "{}: the key '{}' appears twice", where,
                        printable(key.name));
        }
        d.keys.push_back(key);
    }
    HEARTH_TRY(const auto alignment, alignment_of(d, where));
    HEARTH_TRY_VOID(check_count(in, n_tensors, kMinRecordBytes, "tensors"));

    std::vector<std::uint64_t> offsets;
    HEARTH_TRY(const auto extent, read_records(in, d, n_tensors, alignment, offsets));
    d.header_bytes = in.at();
    if (n_tensors == 0) {  // vocabulary only; the padding may be there
        HEARTH_TRY_VOID(check_tail(bytes, in.at(), alignment, where));
        return d;
    }
    const std::uint64_t start = (in.at() + alignment - 1) / alignment * alignment;
    if (start + extent.end > bytes.size()) {
        return fail(Errc::model_invalid,
                    "{}: file is incomplete: {} of {} bytes; finish or repeat the download", where,
                    bytes.size(), start + extent.end);
    }
    HEARTH_TRY_VOID(check_tail(bytes, start + extent.end, alignment, where));
    for (std::size_t i = 0; i < d.tensors.size(); ++i) {
        d.tensors[i].view.data = bytes.data() + start + offsets[i];
    }
    return d;
}

std::string_view gguf_type_name(GgufType type) {
    switch (type) {
        case GgufType::f32:
        case GgufType::f64:
            return "a number with a fraction";
        case GgufType::boolean:
            return "a boolean";
        case GgufType::text:
            return "a string";
        case GgufType::array:
            return "an array";
        default:
            return "an integer";
    }
}

std::size_t gguf_scalar_bytes(GgufType type) {
    constexpr std::size_t kBytes[kNumGgufTypes] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    return kBytes[static_cast<std::size_t>(type)];
}

bool is_gguf_integer(GgufType type) {
    switch (type) {
        case GgufType::f32:
        case GgufType::f64:
        case GgufType::boolean:
        case GgufType::text:
        case GgufType::array:
            return false;
        default:
            return true;
    }
}

std::string printable(std::string_view text, std::size_t limit) {
    std::string out;
    for (const char c : text.substr(0, limit)) out += c >= ' ' && c <= '~' ? c : '?';
    if (text.size() > limit) out += "...";
    return out;
}

}  // namespace hearth
