#include "tests/support/gguf_writer.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <unistd.h>

#include "engine/base/check.h"

namespace hearth::test {

namespace {

template <typename T>
void append_raw(Bytes& out, T v) {
    const std::size_t at = out.size();
    out.resize(at + sizeof(T));
    std::memcpy(out.data() + at, &v, sizeof(T));
}

template <typename T>
GgufValue scalar(std::uint32_t type, T v) {
    GgufValue out{type, Bytes(sizeof(T))};
    std::memcpy(out.bytes.data(), &v, sizeof(T));
    return out;
}

GgufValue array(std::uint32_t element_type, std::size_t n) {
    GgufValue out{9, {}};
    append_u32(out.bytes, element_type);
    append_u64(out.bytes, n);
    return out;
}

}  // namespace

void append_u32(Bytes& out, std::uint32_t v) { append_raw(out, v); }
void append_u64(Bytes& out, std::uint64_t v) { append_raw(out, v); }
void append_string(Bytes& out, std::string_view v) {
    append_u64(out, v.size());
    out.insert(out.end(), v.begin(), v.end());
}

GgufValue GgufValue::u8(std::uint8_t v) { return scalar(0, v); }
GgufValue GgufValue::u16(std::uint16_t v) { return scalar(2, v); }
GgufValue GgufValue::u32(std::uint32_t v) { return scalar(4, v); }
GgufValue GgufValue::i32(std::int32_t v) { return scalar(5, v); }
GgufValue GgufValue::u64(std::uint64_t v) { return scalar(10, v); }
GgufValue GgufValue::f32(float v) { return scalar(6, v); }
GgufValue GgufValue::boolean(bool v) { return scalar(7, static_cast<std::uint8_t>(v ? 1 : 0)); }

GgufValue GgufValue::text(std::string_view v) {
    GgufValue out{8, {}};
    append_string(out.bytes, v);
    return out;
}

GgufValue GgufValue::texts(const std::vector<std::string>& v) {
    GgufValue out = array(8, v.size());
    for (const std::string& s : v) append_string(out.bytes, s);
    return out;
}

GgufValue GgufValue::i32s(const std::vector<std::int32_t>& v) {
    GgufValue out = array(5, v.size());
    for (const std::int32_t x : v) append_raw(out.bytes, x);
    return out;
}

GgufValue GgufValue::f32s(const std::vector<float>& v) {
    GgufValue out = array(6, v.size());
    for (const float x : v) append_raw(out.bytes, x);
    return out;
}

GgufValue GgufValue::bools(const std::vector<bool>& v) {
    GgufValue out = array(7, v.size());
    for (const bool x : v) out.bytes.push_back(x ? 1 : 0);
    return out;
}

void GgufWriter::set(std::string_view key, GgufValue value) {
    for (auto& [name, old] : keys) {
        if (name != key) continue;
        old = std::move(value);
        return;
    }
    keys.emplace_back(std::string(key), std::move(value));
}

void GgufWriter::erase(std::string_view key) {
    std::erase_if(keys, [&](const auto& k) { return k.first == key; });
}

const GgufValue* GgufWriter::find(std::string_view key) const {
    for (const auto& [name, value] : keys) {
        if (name == key) return &value;
    }
    return nullptr;
}

GgufTensor* GgufWriter::tensor(std::string_view name) {
    for (GgufTensor& t : tensors) {
        if (t.name == name) return &t;
    }
    return nullptr;
}

void GgufWriter::erase_tensor(std::string_view name) {
    std::erase_if(tensors, [&](const GgufTensor& t) { return t.name == name; });
}

Bytes GgufWriter::build() const {
    Bytes out(magic.begin(), magic.end());
    append_u32(out, version);
    append_u64(out, forced_counts ? n_tensors : tensors.size());
    append_u64(out, forced_counts ? n_keys : keys.size());
    for (const auto& [key, value] : keys) {
        append_string(out, key);
        append_u32(out, value.type);
        out.insert(out.end(), value.bytes.begin(), value.bytes.end());
    }
    const auto padded = [this](std::uint64_t n) {
        return (n + alignment - 1) / alignment * alignment;
    };
    std::uint64_t offset = 0;
    for (const GgufTensor& t : tensors) {
        append_string(out, t.name);
        append_u32(out, static_cast<std::uint32_t>(t.shape.size()));
        for (const std::uint64_t n : t.shape) append_u64(out, n);
        append_u32(out, t.type);
        append_u64(out, t.forced_offset ? t.offset : offset);
        offset += padded(t.data.size());
    }
    if (tensors.empty()) return out;
    for (const GgufTensor& t : tensors) {
        out.resize(padded(out.size()));
        out.insert(out.end(), t.data.begin(), t.data.end());
    }
    out.resize(padded(out.size()));
    return out;
}

void write_file(const std::string& path, const Bytes& bytes) {
    static std::atomic<int> counter{0};
    const std::string part =
        path + ".part-" + std::to_string(::getpid()) + "-" + std::to_string(counter++);
    std::ofstream f(part, std::ios::binary | std::ios::trunc);
    f.write(reinterpret_cast<const char*>(bytes.data()),
            static_cast<std::streamsize>(bytes.size()));
    f.close();
    HEARTH_CHECK(f.good());
    std::filesystem::rename(part, path);
}

std::string temporary_folder(std::string_view label) {
    static int counter = 0;
    const auto path = std::filesystem::temp_directory_path() /
                      ("hearth-test-" + std::string(label) + "-" + std::to_string(::getpid()) +
                       "-" + std::to_string(counter++));
    std::filesystem::remove_all(path);
    std::filesystem::create_directories(path);
    return path.string();
}

}  // namespace hearth::test
