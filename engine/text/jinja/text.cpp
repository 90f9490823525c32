#include "engine/text/jinja/text.h"

#include <algorithm>
#include <utility>

namespace hearth::jinja {

Text::Text(std::string bytes, Origin origin) : bytes_(std::move(bytes)) {
    if (!bytes_.empty()) runs_.push_back({bytes_.size(), origin, 0});
}

bool Text::is_literal() const {
    return std::all_of(runs_.begin(), runs_.end(),
                       [](const Run& run) { return run.origin == kLiteral; });
}

void Text::append(std::string_view bytes, Origin origin, std::size_t offset) {
    if (bytes.empty()) return;
    if (!runs_.empty()) {
        Run& last = runs_.back();
        const std::size_t begin = runs_.size() > 1 ? runs_[runs_.size() - 2].end : 0;
        const bool continues = origin < 0 || offset == last.offset + (last.end - begin);
        if (last.origin == origin && continues) {
            bytes_.append(bytes);
            last.end = bytes_.size();
            return;
        }
    }
    bytes_.append(bytes);
    runs_.push_back({bytes_.size(), origin, offset});
}

void Text::append(const Text& text, std::size_t begin, std::size_t end) {
    if (begin >= end) return;
    auto run = std::upper_bound(text.runs_.begin(), text.runs_.end(), begin,
                                [](std::size_t at, const Run& r) { return at < r.end; });
    while (begin < end) {
        const std::size_t run_begin = run == text.runs_.begin() ? 0 : std::prev(run)->end;
        const std::size_t stop = std::min(run->end, end);
        append(text.view().substr(begin, stop - begin), run->origin,
               run->offset + (begin - run_begin));
        begin = stop;
        ++run;
    }
}

Text Text::slice(std::size_t begin, std::size_t end) const {
    Text result;
    result.append(*this, begin, std::min(end, size()));
    return result;
}

Origin Text::changed_origin(std::size_t at) const {
    const auto run = std::upper_bound(runs_.begin(), runs_.end(), at,
                                      [](std::size_t a, const Run& r) { return a < r.end; });
    return run == runs_.end() || run->origin == kLiteral ? kLiteral : kInput;
}

}  // namespace hearth::jinja
