#pragma once
// Reading JSON that anybody may have written: what is missing or of another type reads as empty;
// messages become a tree whatever their order, ids and parents are.

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "engine/store/store_types.h"

namespace hearth {

std::string text_at(const nlohmann::json& json, const char* key);
std::int64_t integer_at(const nlohmann::json& json, const char* key);
/// Seconds since 1970, also with a fraction, as milliseconds; 0 when there are none.
std::int64_t seconds_at(const nlohmann::json& json, const char* key);
/// The value; an empty array or object where there is none of the kind.
const nlohmann::json& array_at(const nlohmann::json& json, const char* key);
const nlohmann::json& map_at(const nlohmann::json& json, const char* key);
/// An object as text, "" when it is none.
std::string object_at(const nlohmann::json& json, const char* key);

/// Collects messages by id and parent, in any order, and makes PortableChat's list of them.
class TreeReader {
  public:
    struct Node {
        std::string id, parent;
        PortableMessage message;
        bool wanted = true;  ///< false: left out, its children go to its parent
    };
    void add(Node node);
    /// The order of `add` means something: it is not changed for the sake of times.
    void keep_order() { by_time_ = false; }
    /// Parents first, else by time, else as added. A node without a way to a first message, a
    /// second node of one id and so on is left out with a note. `active` = id of the leaf that is
    /// shown.
    void finish(PortableChat* chat, const std::string& active, std::vector<std::string>* notes);

  private:
    std::vector<Node> nodes_;
    bool by_time_ = true;
    int n_twice_ = 0;
};

}  // namespace hearth
