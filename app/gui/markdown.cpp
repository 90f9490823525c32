#include "app/gui/markdown.h"

#include <algorithm>
#include <cstdlib>

#include <md4c.h>

#include "app/gui/math.h"

namespace hearth::gui {
namespace {

std::string entity_text(std::string_view entity) {
    struct Named {
        std::string_view name, text;
    };
    static constexpr Named kNamed[] = {{"&amp;", "&"},    {"&lt;", "<"},    {"&gt;", ">"},
                                       {"&quot;", "\""},  {"&apos;", "'"},  {"&nbsp;", "\u00A0"},
                                       {"&copy;", "©"},   {"&mdash;", "—"}, {"&ndash;", "–"},
                                       {"&hellip;", "…"}, {"&rarr;", "→"},  {"&times;", "×"}};
    for (const Named& named : kNamed) {
        if (named.name == entity) return std::string(named.text);
    }
    if (entity.size() > 3 && entity[1] == '#') {
        const bool hex = entity[2] == 'x' || entity[2] == 'X';
        const std::string digits(entity.substr(hex ? 3 : 2));
        const unsigned long c = std::strtoul(digits.c_str(), nullptr, hex ? 16 : 10);
        if (c >= 0x20 && c < 0x110000 && (c < 0xD800 || c > 0xDFFF)) {
            std::string out;
            append_character(out, static_cast<char32_t>(c));
            return out;
        }
    }
    return std::string(entity);
}

/// Turns md4c's calls into blocks.
class Reader {
  public:
    MarkdownDocument document;

    int enter_block(MD_BLOCKTYPE type, void* detail) {
        switch (type) {
            case MD_BLOCK_QUOTE:
                ++quote_;
                break;
            case MD_BLOCK_UL:
                lists_.push_back(
                    {false, 0, static_cast<MD_BLOCK_UL_DETAIL*>(detail)->is_tight != 0});
                break;
            case MD_BLOCK_OL: {
                const auto* d = static_cast<MD_BLOCK_OL_DETAIL*>(detail);
                lists_.push_back({true, static_cast<int>(d->start), d->is_tight != 0});
                break;
            }
            case MD_BLOCK_LI:
                begin_item(*static_cast<MD_BLOCK_LI_DETAIL*>(detail));
                break;
            case MD_BLOCK_HR:
                open(BlockKind::rule);
                close();
                break;
            case MD_BLOCK_H:
                open(BlockKind::heading);
                block_.level = static_cast<int>(static_cast<MD_BLOCK_H_DETAIL*>(detail)->level);
                break;
            case MD_BLOCK_CODE:
                open(BlockKind::code);
                block_.language = attribute(static_cast<MD_BLOCK_CODE_DETAIL*>(detail)->lang);
                break;
            case MD_BLOCK_P:
            case MD_BLOCK_HTML:
                open(BlockKind::paragraph);
                break;
            case MD_BLOCK_TABLE:
                open(BlockKind::table);
                block_.columns =
                    static_cast<int>(static_cast<MD_BLOCK_TABLE_DETAIL*>(detail)->col_count);
                break;
            case MD_BLOCK_TH:
            case MD_BLOCK_TD:
                begin_cell(*static_cast<MD_BLOCK_TD_DETAIL*>(detail));
                break;
            default:
                break;
        }
        return 0;
    }

    int leave_block(MD_BLOCKTYPE type) {
        switch (type) {
            case MD_BLOCK_QUOTE:
                --quote_;
                break;
            case MD_BLOCK_UL:
            case MD_BLOCK_OL:
                close();
                lists_.pop_back();
                break;
            case MD_BLOCK_LI:
                close();
                // An item without any text still shows its marker.
                if (!marker_.empty()) {
                    open(BlockKind::paragraph);
                    close();
                }
                break;
            case MD_BLOCK_H:
            case MD_BLOCK_P:
            case MD_BLOCK_HTML:
            case MD_BLOCK_CODE:
            case MD_BLOCK_TABLE:
                close();
                break;
            case MD_BLOCK_TH:
            case MD_BLOCK_TD:
                cell_ = nullptr;
                break;
            default:
                break;
        }
        return 0;
    }

    int enter_span(MD_SPANTYPE type, void* detail) {
        if (type == MD_SPAN_A || type == MD_SPAN_IMG) {
            const MD_ATTRIBUTE& href = type == MD_SPAN_A
                                           ? static_cast<MD_SPAN_A_DETAIL*>(detail)->href
                                           : static_cast<MD_SPAN_IMG_DETAIL*>(detail)->src;
            link_ = static_cast<int>(document.links.size());
            document.links.push_back(attribute(href));
        }
        count(type, 1);
        return 0;
    }
    int leave_span(MD_SPANTYPE type) {
        if (type == MD_SPAN_A || type == MD_SPAN_IMG) link_ = -1;
        count(type, -1);
        return 0;
    }

    int text(MD_TEXTTYPE type, std::string_view piece) {
        // A tight list item has its text without a paragraph.
        if (!is_open_ && cell_ == nullptr) open(BlockKind::paragraph);
        switch (type) {
            case MD_TEXT_NULLCHAR:
                add("\uFFFD");
                break;
            case MD_TEXT_BR:
                add("\n");
                break;
            case MD_TEXT_SOFTBR:
                add(soft_break());
                break;
            case MD_TEXT_ENTITY:
                add(entity_text(piece));
                break;
            default:
                add_with_math(piece);
                break;
        }
        return 0;
    }

  private:
    struct List {
        bool ordered;
        int next;
        bool tight;
    };

    void open(BlockKind kind) {
        if (is_open_) close();
        block_ = MarkdownBlock{};
        block_.kind = kind;
        block_.quote = quote_;
        block_.indent = static_cast<int>(lists_.size());
        block_.tight = !lists_.empty() && lists_.back().tight;
        block_.marker = std::move(marker_);
        marker_.clear();
        is_open_ = true;
    }
    void close() {
        if (!is_open_) return;
        if (block_.kind == BlockKind::code && block_.body.text.ends_with('\n')) {
            block_.body.text.pop_back();
        }
        document.blocks.push_back(std::move(block_));
        is_open_ = false;
    }
    void begin_item(const MD_BLOCK_LI_DETAIL& item) {
        close();
        List& list = lists_.back();
        if (item.is_task) {
            marker_ = item.task_mark == ' ' ? "☐" : "☑";
        } else if (list.ordered) {
            marker_ = std::to_string(list.next++) + ".";
        } else {
            marker_ = lists_.size() % 2 == 1 ? "•" : "◦";
        }
    }
    void begin_cell(const MD_BLOCK_TD_DETAIL& detail) {
        block_.cells.emplace_back();
        cell_ = &block_.cells.back();
        if (static_cast<int>(block_.aligns.size()) < block_.columns) {
            block_.aligns.push_back(detail.align == MD_ALIGN_RIGHT    ? CellAlign::right
                                    : detail.align == MD_ALIGN_CENTER ? CellAlign::center
                                                                      : CellAlign::left);
        }
    }
    void count(MD_SPANTYPE type, int by) {
        if (type == MD_SPAN_STRONG) bold_ += by;
        if (type == MD_SPAN_EM) italic_ += by;
        if (type == MD_SPAN_CODE) code_ += by;
        if (type == MD_SPAN_DEL) strike_ += by;
    }
    static std::string attribute(const MD_ATTRIBUTE& a) {
        return a.text == nullptr ? std::string() : std::string(a.text, a.size);
    }

    MarkdownText& target() { return cell_ != nullptr ? *cell_ : block_.body; }

    /// A line break inside a paragraph is a space, but not between Chinese or Japanese characters.
    std::string_view soft_break() {
        const std::string& text = target().text;
        if (text.size() >= 3) {
            const auto lead = static_cast<unsigned char>(text[text.size() - 3]);
            if (lead >= 0xE3 && lead <= 0xE9) return "";
        }
        return " ";
    }

    void add_with_math(std::string_view piece) {
        while (!piece.empty()) {
            const std::size_t mark = piece.find(math_ ? kMathEnd : kMathBegin);
            add(piece.substr(0, mark));
            if (mark == std::string_view::npos) return;
            math_ = !math_;
            piece.remove_prefix(mark + 3);
        }
    }

    void add(std::string_view piece) {
        if (piece.empty()) return;
        MarkdownText& to = target();
        MarkdownSpan span;
        span.begin = static_cast<std::uint32_t>(to.text.size());
        to.text += piece;
        span.end = static_cast<std::uint32_t>(to.text.size());
        span.bold = bold_ > 0;
        span.italic = italic_ > 0;
        span.code = code_ > 0;
        span.strike = strike_ > 0;
        span.math = math_;
        span.link = link_;
        if (!to.spans.empty()) {
            MarkdownSpan& last = to.spans.back();
            if (last.bold == span.bold && last.italic == span.italic && last.code == span.code &&
                last.strike == span.strike && last.math == span.math && last.link == span.link) {
                last.end = span.end;
                return;
            }
        }
        to.spans.push_back(span);
    }

    MarkdownBlock block_;
    MarkdownText* cell_ = nullptr;
    bool is_open_ = false, math_ = false;
    int quote_ = 0, bold_ = 0, italic_ = 0, code_ = 0, strike_ = 0, link_ = -1;
    std::vector<List> lists_;
    std::string marker_;
};

Reader& reader(void* data) { return *static_cast<Reader*>(data); }

bool starts_list(std::string_view line) {
    if (line.empty()) return false;
    if (line[0] == '-' || line[0] == '*' || line[0] == '+') {
        return line.size() < 2 || line[1] == ' ' || line[1] == '\t';
    }
    std::size_t i = 0;
    while (i < line.size() && line[i] >= '0' && line[i] <= '9') ++i;
    return i > 0 && i < line.size() && (line[i] == '.' || line[i] == ')');
}

/// The fence that a line opens or closes: its character and length; 0 = none.
std::pair<char, std::size_t> fence_of(std::string_view line) {
    std::size_t indent = 0;
    while (indent < line.size() && line[indent] == ' ') ++indent;
    line.remove_prefix(indent);
    if (line.empty() || (line[0] != '`' && line[0] != '~')) return {0, 0};
    std::size_t n = 0;
    while (n < line.size() && line[n] == line[0]) ++n;
    return n >= 3 ? std::pair(line[0], n) : std::pair('\0', std::size_t{0});
}

}  // namespace

MarkdownDocument parse_markdown(std::string_view source) {
    const std::string prepared = mark_math(source);
    MD_PARSER parser = {};
    parser.flags = MD_FLAG_TABLES | MD_FLAG_STRIKETHROUGH | MD_FLAG_PERMISSIVEURLAUTOLINKS |
                   MD_FLAG_TASKLISTS | MD_FLAG_NOHTML;
    parser.enter_block = [](MD_BLOCKTYPE type, void* detail, void* data) {
        return reader(data).enter_block(type, detail);
    };
    parser.leave_block = [](MD_BLOCKTYPE type, void*, void* data) {
        return reader(data).leave_block(type);
    };
    parser.enter_span = [](MD_SPANTYPE type, void* detail, void* data) {
        return reader(data).enter_span(type, detail);
    };
    parser.leave_span = [](MD_SPANTYPE type, void*, void* data) {
        return reader(data).leave_span(type);
    };
    parser.text = [](MD_TEXTTYPE type, const MD_CHAR* text, MD_SIZE size, void* data) {
        return reader(data).text(type, std::string_view(text, size));
    };
    Reader out;
    md_parse(prepared.data(), static_cast<MD_SIZE>(prepared.size()), &parser, &out);
    return std::move(out.document);
}

std::vector<std::size_t> split_markdown(std::string_view source) {
    std::vector<std::size_t> ends;
    char fence = 0;
    std::size_t fence_size = 0;
    bool after_blank = false;
    for (std::size_t at = 0; at < source.size();) {
        const std::size_t newline = source.find('\n', at);
        const bool complete = newline != std::string_view::npos;
        const std::string_view line = source.substr(at, complete ? newline - at : newline);
        const auto [mark, size] = fence_of(line);
        // A piece begins at a line that cannot belong to what stands above the blank line. The
        // line must be long enough to tell: "1" may still become "1.".
        const bool certain = complete || line.size() > 4;
        if (fence == 0 && after_blank && certain && !line.empty() && line[0] != ' ' &&
            line[0] != '\t' && line[0] != '>' && !starts_list(line)) {
            ends.push_back(at);
        }
        if (fence != 0) {
            if (mark == fence && size >= fence_size) fence = 0;
        } else if (mark != 0) {
            fence = mark;
            fence_size = size;
        }
        after_blank = fence == 0 && line.find_first_not_of(" \t\r") == std::string_view::npos;
        at = complete ? newline + 1 : source.size();
    }
    if (ends.empty() || ends.back() != source.size()) ends.push_back(source.size());
    return ends;
}

std::string close_open_marks(std::string_view piece) {
    std::string out(piece);
    char fence = 0;
    for (std::size_t at = 0; at < piece.size();) {
        const std::size_t end = std::min(piece.find('\n', at), piece.size());
        const auto [mark, size] = fence_of(piece.substr(at, end - at));
        if (mark != 0) fence = fence == 0 ? mark : fence == mark ? '\0' : fence;
        at = end + 1;
    }
    if (fence != 0) return out;
    const std::size_t paragraph = piece.rfind("\n\n");
    const std::string_view open =
        piece.substr(paragraph == std::string_view::npos ? 0 : paragraph + 2);
    bool code = false, bold = false, italic = false;
    for (std::size_t i = 0; i < open.size(); ++i) {
        if (open[i] == '`') {
            code = !code;
        } else if (!code && open[i] == '\\') {
            ++i;
        } else if (!code && open[i] == '*') {
            const bool twice = i + 1 < open.size() && open[i + 1] == '*';
            const char next = i + (twice ? 2 : 1) < open.size() ? open[i + (twice ? 2 : 1)] : '\0';
            bool& flag = twice ? bold : italic;
            // A star before a space opens nothing (a list, a product).
            if (flag || (next != ' ' && next != '\n')) flag = !flag;
            if (twice) ++i;
        }
    }
    const auto strip = [&out](std::string_view mark) {
        // The mark is the last thing there is: it is not shown until something follows.
        if (!out.ends_with(mark)) return false;
        out.resize(out.size() - mark.size());
        return true;
    };
    if (code) return strip("`") ? out : out + "`";
    if (italic && !strip("*")) out += "*";
    if (bold && !strip("**")) out += "**";
    return out;
}

ThinkingSplit split_thinking(std::string_view text) {
    constexpr std::string_view kBegin = "<think>", kEnd = "</think>";
    const std::size_t first = text.find_first_not_of(" \n\r\t");
    if (first == std::string_view::npos || text.substr(first, kBegin.size()) != kBegin) {
        return {{}, text, false};
    }
    const std::size_t begin = first + kBegin.size();
    const std::size_t end = text.find(kEnd, begin);
    if (end == std::string_view::npos) return {text.substr(begin), {}, true};
    std::string_view answer = text.substr(end + kEnd.size());
    const std::size_t start = answer.find_first_not_of(" \n\r\t");
    answer.remove_prefix(std::min(start, answer.size()));
    return {text.substr(begin, end - begin), answer, false};
}

}  // namespace hearth::gui
