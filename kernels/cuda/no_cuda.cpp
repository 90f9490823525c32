// The card's functions in a build without a CUDA compiler: they say so.
#include "kernels/card_roof.h"
#include "kernels/device.h"

namespace hearth {

CardStatus card_status(int) {
    CardStatus s;
    s.text = "this build has no CUDA (no nvcc was found when it was built): the CPU is used";
    return s;
}

std::unique_ptr<CardBackend> make_card_backend(const CardOptions& options, std::string& why) {
    why = card_status(options.device).text;
    return nullptr;
}

CardRoof measure_card_roof(int) { return {}; }

}  // namespace hearth
