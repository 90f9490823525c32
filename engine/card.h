#pragma once
// The card of this machine, for `doctor`: nothing is computed.

#include <string>

namespace hearth {

/// One line: what it is, or why none is used.
std::string card_text();
bool card_is_usable();

}  // namespace hearth
