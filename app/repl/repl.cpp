#include "app/repl/repl.h"

namespace hearth {

int run_repl(ChatController&, const Options&) { return 0; }

}  // namespace hearth
