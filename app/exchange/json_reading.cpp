#include "app/exchange/json_reading.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>

#include <fmt/format.h>

#include "app/text_input.h"

namespace hearth {
namespace {

const nlohmann::json kNoArray = nlohmann::json::array();
const nlohmann::json kNoMap = nlohmann::json::object();
constexpr double kLastSecond = 4e9;  ///< of the year 2096

const nlohmann::json* find(const nlohmann::json& json, const char* key) {
    if (!json.is_object()) return nullptr;
    const auto found = json.find(key);
    return found == json.end() ? nullptr : &*found;
}

}  // namespace

std::string text_at(const nlohmann::json& json, const char* key) {
    const auto* value = find(json, key);
    if (value == nullptr || !value->is_string()) return {};
    return valid_utf8(value->get_ref<const std::string&>());  // a NUL may stand in JSON
}

std::int64_t integer_at(const nlohmann::json& json, const char* key) {
    const auto* value = find(json, key);
    return value != nullptr && value->is_number_integer() ? value->get<std::int64_t>() : 0;
}

std::int64_t seconds_at(const nlohmann::json& json, const char* key) {
    const auto* value = find(json, key);
    if (value == nullptr || !value->is_number()) return 0;
    const double seconds = value->get<double>();
    if (!(seconds > 0) || seconds > kLastSecond) return 0;
    return static_cast<std::int64_t>(std::llround(seconds * 1000));
}

const nlohmann::json& array_at(const nlohmann::json& json, const char* key) {
    const auto* value = find(json, key);
    return value != nullptr && value->is_array() ? *value : kNoArray;
}

const nlohmann::json& map_at(const nlohmann::json& json, const char* key) {
    const auto* value = find(json, key);
    return value != nullptr && value->is_object() ? *value : kNoMap;
}

std::string object_at(const nlohmann::json& json, const char* key) {
    const auto* value = find(json, key);
    if (value == nullptr || !value->is_object() || value->empty()) return {};
    return value->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void TreeReader::add(Node node) { nodes_.push_back(std::move(node)); }

void TreeReader::finish(PortableChat* chat, const std::string& active,
                        std::vector<std::string>* notes) {
    std::unordered_map<std::string, std::size_t> index;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        // Messages without an id are named by their place.
        if (nodes_[i].id.empty()) nodes_[i].id = fmt::format("#{}", i);
        if (!index.emplace(nodes_[i].id, i).second) ++n_twice_;
    }
    std::vector<std::size_t> order(nodes_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto time_of = [&](std::size_t i) {
        return by_time_ ? nodes_[i].message.message.created_ms : 0;
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return time_of(a) < time_of(b); });
    enum class Mark { untouched, waiting, done };
    std::vector<Mark> marks(nodes_.size(), Mark::untouched);
    constexpr int kNowhere = -2;
    std::vector<int> place(nodes_.size(), kNowhere);  // in the chat; -1 = at the beginning
    int n_lost = 0;
    for (const std::size_t start : order) {
        // The way up to a node that has its place, then down again.
        std::vector<std::size_t> way;
        std::size_t at = start;
        bool is_ring = false;
        int above = -1;
        for (;;) {
            if (marks[at] == Mark::done) {
                above = place[at];
                break;
            }
            if (marks[at] == Mark::waiting) {
                is_ring = true;
                break;
            }
            marks[at] = Mark::waiting;
            way.push_back(at);
            const auto parent = index.find(nodes_[at].parent);
            if (nodes_[at].parent.empty() || parent == index.end()) break;
            at = parent->second;
        }
        if (is_ring) above = kNowhere;
        for (; !way.empty(); way.pop_back()) {
            Node& node = nodes_[way.back()];
            marks[way.back()] = Mark::done;
            const bool is_first = index.at(node.id) == way.back();
            if (above == kNowhere || !is_first) {
                if (above == kNowhere) ++n_lost;
                continue;
            }
            if (node.wanted) {
                node.message.origin = node.id;
                node.message.parent = above;
                above = static_cast<int>(chat->messages.size());
                chat->messages.push_back(std::move(node.message));
            }
            place[way.back()] = above;
        }
    }
    const auto shown = index.find(active);
    if (shown != index.end() && place[shown->second] >= 0) chat->active = place[shown->second];
    if (n_lost + n_twice_ > 0 && notes != nullptr)
        notes->push_back(fmt::format(
            "{} messages of “{}” are left out: {} have no way to a first message, {} have the id "
            "of another one",
            n_lost + n_twice_, chat->title, n_lost, n_twice_));
}

}  // namespace hearth
