#include "engine/card.h"

#include "kernels/device.h"

namespace hearth {

std::string card_text() { return card_status().text; }
bool card_is_usable() { return card_status().is_usable; }

}  // namespace hearth
