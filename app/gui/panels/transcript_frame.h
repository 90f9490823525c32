#pragma once
// What the functions of one transcript frame share.

#include "app/gui/gui.h"
#include "app/gui/panels/transcript.h"

namespace hearth::gui {

struct Transcript::Frame {
    Gui& gui;
    Ui& ui;
    const ViewState& view;
    Rect area;    ///< of the panel
    Rect column;  ///< where messages stand, horizontally
    bool streaming = false;

    const StoredMessage* message(std::size_t index) const {
        return index < view.messages.size() ? &view.messages[index] : nullptr;
    }
    /// What is above this item is not shown to the model.
    bool unseen_ends_at(std::size_t index) const {
        return index == view.unseen_end && view.unseen_end > view.unseen_begin;
    }
};

/// Layout of an item, at scale 1.
inline constexpr float kItemGap = 10, kActionRow = 28, kBubblePad = 12, kThinkingRow = 26,
                       kUnseenRow = 36;
inline constexpr std::size_t kFoldBytes = 2400;  ///< a longer question shows its begin

}  // namespace hearth::gui
