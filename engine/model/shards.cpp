#include "engine/model/shards.h"

#include <filesystem>
#include <string_view>

namespace hearth {

namespace {

constexpr std::uint64_t kMaxParts = 65535;  ///< split.no is 16 bits wide
constexpr std::string_view kForm = "-00001-of-00001.gguf";

/// Five digits at `at`, else nullopt: other widths are other programs' names.
std::optional<std::uint64_t> five_digits(std::string_view text, std::size_t at) {
    std::uint64_t v = 0;
    for (const char c : text.substr(at, 5)) {
        if (c < '0' || c > '9') return std::nullopt;
        v = v * 10 + static_cast<std::uint64_t>(c - '0');
    }
    return v;
}

}  // namespace

Result<std::vector<std::string>> sibling_paths(const std::string& path, const SplitInfo& split) {
    const std::uint64_t count = split.count.value_or(1);
    if (count > kMaxParts) {
        return fail(Errc::model_invalid, "{}: split.count is {}, expected at most {}", path, count,
                    kMaxParts);
    }
    const std::string_view name(path);
    std::optional<std::uint64_t> number, total;
    if (name.size() > kForm.size()) {
        const std::string_view tail = name.substr(name.size() - kForm.size());
        if (tail[0] == '-' && tail.substr(6, 4) == "-of-" && tail.substr(15) == ".gguf") {
            number = five_digits(tail, 1);
            total = five_digits(tail, 10);
        }
    }
    if (!number || !total) {
        return fail(Errc::model_invalid,
                    "{}: is part {} of {}, whose others are found by name: expected a name that "
                    "ends in -{:05}-of-{:05}.gguf",
                    path, split.index.value_or(0) + 1, count, split.index.value_or(0) + 1, count);
    }
    if (*total != count || *number < 1 || *number > count) {
        return fail(Errc::model_invalid, "{}: its name says part {} of {}, its split.count is {}",
                    path, *number, *total, count);
    }
    const std::string stem(name.substr(0, name.size() - kForm.size()));
    std::vector<std::string> out;
    for (std::uint64_t i = 1; i <= count; ++i) {
        out.push_back(fmt::format("{}-{:05}-of-{:05}.gguf", stem, i, count));
        std::error_code ec;
        if (!std::filesystem::exists(out.back(), ec)) {
            return fail(Errc::model_invalid, "{}: part {} of {} is missing: expected {}", path, i,
                        count, out.back());
        }
    }
    return out;
}

Result<void> check_part(const std::string& path, const SplitInfo& part, std::size_t index,
                        const SplitInfo& entry) {
    if (!part.index || *part.index != index) {
        return fail(Errc::model_invalid, "{}: split.no is {}, expected {} from its name", path,
                    part.index ? fmt::format("{}", *part.index) : "missing", index);
    }
    if (part.count != entry.count) {
        return fail(Errc::model_invalid, "{}: split.count is {}, expected {} as in the other parts",
                    path, part.count.value_or(0), entry.count.value_or(0));
    }
    if (part.n_tensors && entry.n_tensors && *part.n_tensors != *entry.n_tensors) {
        return fail(Errc::model_invalid,
                    "{}: split.tensors.count is {}, expected {} as in the other parts", path,
                    *part.n_tensors, *entry.n_tensors);
    }
    return {};
}

}  // namespace hearth
