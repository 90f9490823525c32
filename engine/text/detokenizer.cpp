#include "engine/text/detokenizer.h"

#include "engine/text/utf8.h"

namespace hearth {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

/// May `byte` follow the incomplete, so far valid sequence `pending`?
bool continues(const std::string& pending, unsigned char byte) {
    const Utf8Lead lead = utf8_lead(static_cast<unsigned char>(pending[0]));
    if (pending.size() == 1) return byte >= lead.second_min && byte <= lead.second_max;
    return byte >= 0x80 && byte <= 0xBF;
}

}  // namespace

// One U+FFFD per maximal subpart (Unicode 15, section 3.9, "U+FFFD Substitution of Maximal
// Subparts"): the rule looks at one byte at a time, so splits cannot be seen.
std::string Utf8Stream::push(std::string_view bytes) {
    std::string out;
    out.reserve(pending_.size() + bytes.size());
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        if (!pending_.empty()) {
            if (continues(pending_, byte)) {
                pending_ += c;
                if (pending_.size() == utf8_lead(static_cast<unsigned char>(pending_[0])).length) {
                    out += pending_;
                    pending_.clear();
                }
                continue;
            }
            out += kReplacement;
            pending_.clear();
        }
        const Utf8Lead lead = utf8_lead(byte);
        if (lead.length == 1) {
            out += c;
        } else if (lead.length == 0) {
            out += kReplacement;
        } else {
            pending_ = c;
        }
    }
    return out;
}

std::string Utf8Stream::finish() {
    if (pending_.empty()) return {};
    pending_.clear();
    return std::string(kReplacement);
}

}  // namespace hearth
