#pragma once
// InputHistory: what was typed, oldest first, without doubles. Optionally in a file that several
// programs append to. Format: one entry a line; a newline is \n, a backslash \\. Mode 0600.

#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.h"

namespace hearth::repl {

class InputHistory {
  public:
    /// Reads `path` when it exists and appends to it from then on; "" = memory only.
    /// Errors: failed, when the file cannot be read; the object then works in memory.
    Result<void> open(const std::string& path);
    /// Blank text and the newest entry again are ignored; an older equal entry moves to the end.
    /// Errors: failed, told once; later entries stay in memory.
    Result<void> add(const std::string& text);
    /// No entry is remembered any more (/set nohistory), or again.
    void set_enabled(bool enabled) { enabled_ = enabled; }

    const std::vector<std::string>& entries() const { return entries_; }

  private:
    void remember(const std::string& text);
    Result<void> rewrite();

    std::vector<std::string> entries_;
    std::string path_;
    bool enabled_ = true;
};

std::string escape_history_line(std::string_view text);
std::string unescape_history_line(std::string_view line);

}  // namespace hearth::repl
