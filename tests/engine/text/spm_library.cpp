#include "tests/engine/text/spm_library.h"

#include <mutex>
#include <stdexcept>

#include <sentencepiece_processor.h>

#include "tests/engine/text/spm_proto.h"

// In the library's common.h, which is not installed. It writes to stderr otherwise.
namespace sentencepiece::logging {
void SetMinLogLevel(int level);
}

namespace hearth::test {

struct SpmLibrary::Impl {
    sentencepiece::SentencePieceProcessor processor;
    TokenId unk = -1;
};

SpmLibrary::SpmLibrary(const Vocabulary& vocabulary, const std::vector<TokenType>& types)
    : impl_(std::make_unique<Impl>()) {
    static std::once_flag once;
    std::call_once(once, [] {
        constexpr int kNothingBelow = 1000;  // above its LOG_FATAL
        sentencepiece::logging::SetMinLogLevel(kNothingBelow);
    });
    const SpmModel model = make_spm_model(vocabulary, types);
    const auto status = impl_->processor.LoadFromSerializedProto(serialize(model));
    if (!status.ok()) throw std::runtime_error(status.ToString());
    const bool in_file = model.unk < static_cast<TokenId>(types.size());
    const bool usable = in_file && types[static_cast<std::size_t>(model.unk)] != TokenType::control;
    if (usable) impl_->unk = model.unk;
}

SpmLibrary::~SpmLibrary() = default;

std::vector<TokenId> SpmLibrary::encode(std::string_view text) const {
    std::vector<int> ids;
    const auto status = impl_->processor.Encode(text, &ids);
    if (!status.ok()) throw std::runtime_error(status.ToString());
    for (int& id : ids) {
        if (id == impl_->processor.unk_id()) id = impl_->unk;
    }
    return ids;
}

}  // namespace hearth::test
