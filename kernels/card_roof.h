#pragma once
// What a card gives at best, measured now (some tenths of a second): for the shares of `bench`.

namespace hearth {

struct CardRoof {
    double read_gb_s = 0;  ///< of its memory, read by a kernel that does nothing else
    double int8_gops = 0;  ///< of its int8 tensor cores; a multiply-add is two operations
};
/// Zeros when there is no card, or no memory for it.
CardRoof measure_card_roof(int device = 0);

}  // namespace hearth
