#pragma once
// Chats as text for other places: Markdown and HTML for people, JSON for programs and for Hearth
// itself. Pure: a PortableChat in, text out.

#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.h"
#include "engine/store/store_types.h"

namespace hearth {

enum class ExportFormat { markdown, json, html };

/// "md", "markdown", "json", "html". Errors: usage.
Result<ExportFormat> export_format(std::string_view name);
/// By the ending of a file's name; `otherwise` when it says nothing.
ExportFormat export_format_of_file(std::string_view path, ExportFormat otherwise);

/// JSON has everything: all branches, ids, times, settings. HTML has all branches, those not shown
/// folded. Markdown has the branch that is shown.
std::string export_text(const std::vector<PortableChat>& chats, ExportFormat format);

/// Makes the file (0600), whole or not at all; one that exists is not touched. Errors: failed.
Result<void> write_new_file(const std::string& path, std::string_view bytes);

}  // namespace hearth
