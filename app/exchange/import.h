#pragma once
// Chats from files of other programs and of Hearth. Knows the formats; reads no file and no
// database. Whatever the bytes are, the answer is chats or a sentence.

#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.h"
#include "engine/store/store.h"

namespace hearth {

struct ImportFile {
    std::string format;  ///< "Hearth", "ChatGPT", "LM Studio", "a list of messages"
    std::vector<PortableChat> chats;
    std::vector<std::string> notes;  ///< sentences: what was left out
};

/// `name` of the file, for sentences and titles. Errors: failed.
Result<ImportFile> read_import(std::string_view bytes, const std::string& name);

/// What an import did, over all chats of a file.
struct ImportSum {
    std::string format;
    int n_chats = 0, n_new = 0, n_messages = 0, n_in_trash = 0;
    ConversationId last = 0;  ///< of the chat that came last; 0 = none
    std::vector<std::string> notes;
};
/// Reads the file at `path` and stores what is not there yet. Errors: failed.
Result<ImportSum> import_file(Store& store, const std::string& path);
/// "3 chats (2 of them new), 57 new messages (ChatGPT)".
std::string import_sentence(const ImportSum& sum);

}  // namespace hearth
