#include "app/gui/glfw_table.h"

#include <dlfcn.h>

namespace hearth::gui {

Result<std::unique_ptr<GlfwTable>> load_glfw() {
    void* library = ::dlopen("libglfw.so.3", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        const char* reason = ::dlerror();
        return fail(Errc::failed,
                    "the window needs the library libglfw.so.3 (package libglfw3), which cannot be "
                    "loaded: {}",
                    reason != nullptr ? reason : "no reason given");
    }
    auto table = std::make_unique<GlfwTable>();
    const char* missing = nullptr;
    const auto find = [&](auto& slot, const char* name) {
        void* symbol = ::dlsym(library, name);
        if (symbol == nullptr) missing = name;
        slot = reinterpret_cast<std::remove_reference_t<decltype(slot)>>(symbol);
    };
#define X(name, function) find(table->name, #function);
    HEARTH_GLFW_FUNCTIONS(X)
#undef X
    if (missing != nullptr) {
        return fail(Errc::failed,
                    "libglfw.so.3 is too old for the window: it has no {}; GLFW 3.3 "
                    "or newer is needed",
                    missing);
    }
    return table;
}

}  // namespace hearth::gui
