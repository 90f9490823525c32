#pragma once
// Shared by the tests of the store: a temporary folder, short makers and readers.

#include <filesystem>
#include <string>

#include <catch2/catch.hpp>
#include <stdlib.h>

#include "engine/store/store.h"

namespace hearth {

class TempFolder {
  public:
    TempFolder() {
        std::string pattern =
            (std::filesystem::temp_directory_path() / "hearth-store-XXXXXX").string();
        REQUIRE(::mkdtemp(pattern.data()) != nullptr);
        path_ = pattern;
    }
    ~TempFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    TempFolder(const TempFolder&) = delete;
    TempFolder& operator=(const TempFolder&) = delete;
    std::string operator/(const std::string& name) const { return path_ + "/" + name; }

  private:
    std::string path_;
};

/// The value, or a failed test that shows the error.
template <typename T>
T must(Result<T> result) {
    INFO((result ? std::string() : result.error().what));
    REQUIRE(result);
    return std::move(*result);
}
inline void must(const Result<void>& result) {
    INFO((result ? std::string() : result.error().what));
    REQUIRE(result);
}

inline std::unique_ptr<Store> open_store(const std::string& path) {
    return must(Store::open(path));
}

inline StoredMessage message(MessageId parent, const std::string& role, const std::string& content,
                             MessageState state = MessageState::complete) {
    StoredMessage m;
    m.parent = parent;
    m.role = role;
    m.content = content;
    m.state = state;
    return m;
}

/// A chat with one question; returns both ids.
struct Asked {
    ConversationId chat;
    MessageId question;
};
inline Asked ask(Store& store, const std::string& text) {
    const ConversationId chat = must(store.create("tiny"));
    return {chat, must(store.append(chat, message(0, "user", text)))};
}

}  // namespace hearth
