// The status line: what is measured, nothing else.

#include <fmt/format.h>

#include "app/gui/gui.h"
#include "app/gui/words.h"
#include "engine/base/memory.h"

namespace hearth::gui {
namespace {

std::string measured(const ViewState& view) {
    if (!view.last || view.last->stats.backend.empty()) return "";
    const Stats& s = view.last->stats;
    std::string out = s.backend;
    if (s.completion_tokens > 1) out += fmt::format(" · {:.1f} tokens/s", s.decode_tok_s());
    if (s.prompt_tokens > s.cached_tokens && s.prefill_ms > 0) {
        out += fmt::format(" · reading {:.0f} tokens/s", s.prefill_tok_s());
    }
    if (s.completion_tokens > 0) {
        out += fmt::format(" · first token {:.2f} s", s.first_token_ms / 1000);
    }
    out += fmt::format(" · reused {} of {}", grouped_number(s.cached_tokens),
                       grouped_number(s.prompt_tokens));
    const SpeculationStats& d = s.speculation;
    if (d.drafted > 0) {
        out += fmt::format(" · drafts {} %, {:.1f}×", 100 * d.accepted / d.drafted, d.speedup);
    }
    return out;
}

}  // namespace

void draw_status(Gui& gui, const Rect& area) {
    Ui& ui = gui.ui();
    const ViewState& view = gui.view();
    ui.fill(area, Ink::side);
    ui.rule(area.x, area.y, area.right());
    std::string left = gui.progress_text();
    if (left.empty()) left = measured(view);
    if (left.empty()) {
        left = view.model_name.empty() ? "no model chosen"
               : view.model_loaded     ? view.model_name + " is in memory"
                                       : view.model_name + " loads with the first message";
    }
    if (const std::size_t n = view.writing_elsewhere.size(); n > 0) {
        left += fmt::format(" · {} in {} other {}", n == 1 ? "an answer" : "answers", n,
                            n == 1 ? "chat" : "chats");
    }
    TextLook look;
    look.size = 12.5f;
    look.ink = Ink::dim;
    const float pad = ui.px(14);
    ui.text({area.x + pad, area.y, area.w * 0.72f, area.h}, left, look);
    look.align = TextLook::Align::right;
    // The system is asked when something else makes a frame; the figure does not make frames.
    const std::int64_t resident = resident_memory_bytes(), free = free_memory_bytes();
    if (resident < 0) return;
    std::string right = fmt::format("memory {}", show_size(static_cast<std::uint64_t>(resident)));
    if (free >= 0 && area.w > ui.px(640))
        right += fmt::format(", {} free", show_size(static_cast<std::uint64_t>(free)));
    ui.text({area.x + area.w * 0.72f, area.y, area.w * 0.28f - pad, area.h}, right, look);
}

}  // namespace hearth::gui
