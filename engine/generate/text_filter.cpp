#include "engine/generate/text_filter.h"

#include <algorithm>
#include <utility>

namespace hearth {

StopMatcher::StopMatcher(std::vector<std::string> stops) : stops_(std::move(stops)) {
    std::erase(stops_, std::string());
}

StopMatcher::Output StopMatcher::push(std::string_view text) {
    Output out;
    if (stops_.empty()) {
        out.text = text;
        return out;
    }
    for (const char c : text) {
        held_ += c;
        std::size_t match = 0;
        for (const std::string& s : stops_) {
            if (held_.ends_with(s)) match = std::max(match, s.size());
        }
        if (match > 0) {
            out.text += held_.substr(0, held_.size() - match);
            held_.clear();
            out.stopped = true;
            return out;
        }
        std::size_t keep = 0;  // longest suffix of held_ that begins a stop string
        for (const std::string& s : stops_) {
            for (std::size_t n = std::min(s.size() - 1, held_.size()); n > keep; --n) {
                if (held_.compare(held_.size() - n, n, s, 0, n) == 0) keep = n;
            }
        }
        out.text += held_.substr(0, held_.size() - keep);
        held_.erase(0, held_.size() - keep);
    }
    return out;
}

std::string StopMatcher::flush() { return std::exchange(held_, std::string()); }

TextFilter::TextFilter(std::vector<std::string> stops) : matcher_(std::move(stops)) {}

/// Ids leave when their text is shown and no half character hangs on them.
void TextFilter::take_shown_ids(Output& out) {
    std::size_t n = 0;
    for (std::size_t i = 0; i < pending_.size() && pending_[i].end <= shown_; ++i) {
        if (pending_[i].whole) n = i + 1;
    }
    for (std::size_t i = 0; i < n; ++i) {
        out.ids.push_back(pending_[i].id);
        unclaimed_.erase(0, pending_[i].end - claimed_);
        claimed_ = pending_[i].end;
    }
    pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(n));
}

TextFilter::Output TextFilter::push(std::int32_t id, std::string_view bytes) {
    const std::string text = utf8_.push(bytes);
    made_ += text.size();
    pending_.push_back({id, made_, Utf8Stream(utf8_).finish().empty()});
    StopMatcher::Output matched = matcher_.push(text);
    Output out;
    out.stopped = matched.stopped;
    out.text = std::move(matched.text);
    shown_ += out.text.size();
    unclaimed_ += out.text;
    take_shown_ids(out);
    if (out.stopped) {
        out.fragment = std::exchange(unclaimed_, std::string());
        pending_.clear();
    }
    return out;
}

TextFilter::Output TextFilter::finish() {
    Output out;
    StopMatcher::Output last = matcher_.push(utf8_.finish());
    out.text = std::move(last.text) + matcher_.flush();
    for (const Pending& p : pending_) out.ids.push_back(p.id);
    pending_.clear();
    return out;
}

}  // namespace hearth
