#include "engine/text/builtin_templates.h"

#include <array>

namespace hearth {
namespace {

constexpr std::string_view kChatml = R"({%- for message in messages %}
    {{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}{%- endif %})";

constexpr std::string_view kLlama3 = R"({{- bos_token }}
{%- for message in messages %}
    {{- '<|start_header_id|>' + message.role + '<|end_header_id|>\n\n' + message.content + '<|eot_id|>' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\n\n' }}
{%- endif %})";

// Gemma has no system role: its text goes before the first user turn.
constexpr std::string_view kGemma = R"({{- bos_token }}
{%- set ns = namespace(system='') %}
{%- set turns = messages %}
{%- if messages and messages[0].role == 'system' %}
    {%- set ns.system = messages[0].content + '\n\n' %}
    {%- set turns = messages[1:] %}
{%- endif %}
{%- for message in turns %}
    {%- if message.role == 'system' %}
        {{- raise_exception('This model takes a system message only at the start.') }}
    {%- endif %}
    {{- '<start_of_turn>' + ('model' if message.role == 'assistant' else message.role) + '\n' }}
    {{- ns.system if loop.first else '' }}
    {{- message.content + '<end_of_turn>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<start_of_turn>model\n' }}{%- endif %})";

// Mistral has no system role either. In the first user turn its text never moves, so the cached
// prefix of a growing conversation stays valid.
constexpr std::string_view kMistral = R"({{- bos_token }}
{%- set ns = namespace(system='') %}
{%- set turns = messages %}
{%- if messages and messages[0].role == 'system' %}
    {%- set ns.system = messages[0].content + '\n\n' %}
    {%- set turns = messages[1:] %}
{%- endif %}
{%- for message in turns %}
    {%- if message.role == 'user' %}
        {{- '[INST] ' + (ns.system if loop.first else '') + message.content + ' [/INST]' }}
    {%- elif message.role == 'assistant' %}
        {{- message.content + eos_token }}
    {%- else %}
        {{- raise_exception('This model takes no message with the role ' + message.role + ' here.') }}
    {%- endif %}
{%- endfor %})";

constexpr std::string_view kPhi3 = R"({%- for message in messages %}
    {%- if message.role == 'system' %}{{- '<|system|>\n' }}
    {%- elif message.role == 'user' %}{{- '<|user|>\n' }}
    {%- elif message.role == 'assistant' %}{{- '<|assistant|>\n' }}
    {%- else %}
        {{- raise_exception('This model takes no message with the role ' + message.role + '.') }}
    {%- endif %}
    {{- message.content + '<|end|>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|assistant|>\n' }}{%- endif %})";

constexpr std::string_view kZephyr = R"({%- for message in messages %}
    {%- if message.role == 'system' %}{{- '<|system|>\n' }}
    {%- elif message.role == 'user' %}{{- '<|user|>\n' }}
    {%- elif message.role == 'assistant' %}{{- '<|assistant|>\n' }}
    {%- else %}
        {{- raise_exception('This model takes no message with the role ' + message.role + '.') }}
    {%- endif %}
    {{- message.content + eos_token + '\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|assistant|>\n' }}{%- endif %})";

constexpr std::array<std::string_view, 2> kChatmlMarkers = {"<|im_start|>", "<|im_end|>"};
constexpr std::array<std::string_view, 2> kLlama3Markers = {"<|start_header_id|>", "<|eot_id|>"};
constexpr std::array<std::string_view, 2> kGemmaMarkers = {"<start_of_turn>", "<end_of_turn>"};
constexpr std::array<std::string_view, 2> kMistralMarkers = {"[INST]", "[/INST]"};
constexpr std::array<std::string_view, 3> kPhi3Markers = {"<|user|>", "<|assistant|>", "<|end|>"};
constexpr std::array<std::string_view, 2> kZephyrMarkers = {"<|user|>", "<|assistant|>"};

constexpr std::array<BuiltinTemplate, 6> kTable = {{
    {"chatml", kChatml, kChatmlMarkers},
    {"llama3", kLlama3, kLlama3Markers},
    {"gemma", kGemma, kGemmaMarkers},
    {"mistral", kMistral, kMistralMarkers},
    {"phi3", kPhi3, kPhi3Markers},
    {"zephyr", kZephyr, kZephyrMarkers},
}};

}  // namespace

std::span<const BuiltinTemplate> builtin_templates() { return kTable; }

}  // namespace hearth
