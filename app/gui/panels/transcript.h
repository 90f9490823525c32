#pragma once
// Transcript: the messages of a chat, drawn from ViewState. Lays out only what is visible, keeps
// the reader's place while text grows, selects across messages, finds. The place is (item, pixels),
// never a position in the whole, so that guessed heights above cannot move what is being read.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "app/gui/message_view.h"
#include "app/gui/ui.h"
#include "app/view_state.h"

namespace hearth::gui {

class Gui;

/// A place in the text of the chat.
struct TextPlace {
    std::size_t item = 0, leaf = 0;
    std::uint32_t byte = 0;
    auto operator<=>(const TextPlace&) const = default;
};

class Transcript {
  public:
    void draw(Gui& gui, const Rect& area);
    void jump_to_end() { follow_ = true; }
    bool at_end() const { return follow_; }
    void scroll_by(float pixels);
    void scroll_to_begin();

    bool has_selection() const { return selection_ && selection_->first != selection_->second; }
    std::string selected_text(Gui& gui);
    void select_all(Gui& gui);
    void clear_selection() { selection_.reset(); }

    /// Marks what contains `text` (any case) and goes to the newest match; "" ends it.
    void find(Gui& gui, const std::string& text);
    void find_next(Gui& gui, int direction);
    std::string find_status() const;

    /// Items laid out in the last frame, for tests.
    std::size_t n_drawn() const { return n_drawn_; }
    std::size_t layouts_made() const { return layouts_made_; }

  private:
    struct ItemView {
        MessageView body, thinking;
        bool thinking_shown = false, all_shown = false;
        bool cut = false;  ///< a long question is folded
        std::string footer, error;
        std::uint64_t last_frame = 0;
        bool facts_known = false;
    };
    struct Item {
        MessageId id = 0;  ///< 0: the answer being written
        std::size_t bytes = 0;
        float height = 0;
        bool exact = false;
    };
    struct Frame;  ///< what the functions of one draw share

    void sync(Frame& f);
    float estimate(const Frame& f, std::size_t index) const;
    ItemView& ensure(Frame& f, std::size_t index);
    void learn_facts(Frame& f, std::size_t index, ItemView& view);
    void settle(Frame& f);
    void settle_from_end(Frame& f);
    void draw_items(Frame& f);
    void draw_item(Frame& f, std::size_t index, float y);
    float draw_thinking(Frame& f, ItemView& view, const Rect& column, float y);
    void draw_body(Frame& f, std::size_t index, const MessageView& view, std::size_t first_leaf,
                   ImVec2 at, bool dim);
    void draw_block(Frame& f, const PieceView& piece, const BlockView& block, ImVec2 at,
                    std::uint64_t part);
    void draw_leaf(Frame& f, const Leaf& leaf, TextPlace place, ImVec2 at, bool dim);
    void draw_actions(Frame& f, std::size_t index, ItemView& view, const Rect& row);
    void draw_progress(Frame& f, const Rect& row);
    void draw_unseen_line(Frame& f, float y);
    void pointer_on_leaf(Frame& f, const Leaf& leaf, TextPlace place, ImVec2 at,
                         const std::vector<std::string>& links);
    void end_selection(Frame& f);
    void scroll_bar(Frame& f);
    void prune();
    MessageLook look_of(const Frame& f, std::size_t index, bool thinking) const;
    bool is_user(const Frame& f, std::size_t index) const;
    float extra_height(const Frame& f, std::size_t index, const ItemView& view) const;

    std::vector<Item> items_;
    std::unordered_map<MessageId, std::unique_ptr<ItemView>> views_;
    ConversationId chat_ = 0;
    float width_ = 0, scale_ = 0, viewport_ = 0;
    std::size_t top_ = 0;  ///< the first visible item
    float offset_ = 0;     ///< its pixels above the view
    bool follow_ = true;   ///< stay at the end while text grows
    float wheel_ = 0, grab_ = 0;
    std::uint64_t frame_ = 0;

    std::optional<std::pair<TextPlace, TextPlace>> selection_;  ///< anchor, head
    bool selecting_ = false;
    int select_unit_ = 1;  ///< clicks

    std::string find_text_;
    std::vector<std::size_t> found_;  ///< items
    std::size_t found_at_ = 0;
    std::size_t n_drawn_ = 0, layouts_made_ = 0;
    std::size_t unseen_end_ = 0;  ///< ViewState's, when heights were counted
};

/// "52.3 tok/s · first token 0.21 s · reused 7,912 of 8,040 · 1.8× by drafts" from stored stats.
std::string stats_line(const std::string& stats_json);
/// Sentence of a failed answer, from stored stats.
std::string error_of(const std::string& stats_json);

}  // namespace hearth::gui
