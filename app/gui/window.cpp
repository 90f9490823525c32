#include "app/gui/window.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <ctime>

#include <backends/imgui_impl_opengl3.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/gui/composition.h"
#include "app/gui/first_window.h"
#include "app/gui/gl_textures.h"
#include "app/gui/glfw_table.h"
#include "app/gui/gui.h"
#include "app/signals.h"

namespace hearth::gui {
namespace {

constexpr double kTickS = 0.5;  ///< signals and other programs' messages are looked for
constexpr double kDoubleClickS = 0.4;
constexpr float kDoubleClickPx = 5;

/// Runs the desktop's opener for an address, detached.
void open_in_browser(const std::string& address) {
    const pid_t child = ::fork();
    if (child == 0) {
        if (::fork() == 0) {
            ::setsid();
            ::execlp("xdg-open", "xdg-open", address.c_str(), nullptr);
        }
        ::_exit(0);
    }
    if (child > 0) ::waitpid(child, nullptr, 0);
}

double processor_ms() {
    timespec time{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

class Window {
  public:
    Window(ChatController& chat, WindowProbe probe) : chat_(chat), probe_(std::move(probe)) {}
    ~Window() {
        chat_.set_wake({});
        if (gl_ready_) ImGui_ImplOpenGL3_Shutdown();
        if (context_ != nullptr) ImGui::DestroyContext(context_);
        if (window_ != nullptr) glfw_->destroy_window(window_);
        if (started_) glfw_->terminate();
    }
    Window(const Window&) = delete;
    Window& operator=(const Window&) = delete;

    Result<void> open(const Options& options) {
        HEARTH_TRY(glfw_, load_glfw());
        if (glfw_->init() == 0) return no_window("no display can be opened");
        started_ = true;
        gui_ =
            std::make_unique<Gui>(chat_, textures_, options.no_log ? "" : options.paths.state_dir);
        gui_->set_system_dark(options.prefers_dark);
        glfw_->window_hint(GLFW_CONTEXT_VERSION_MAJOR, 3);
        glfw_->window_hint(GLFW_CONTEXT_VERSION_MINOR, 3);
        glfw_->window_hint(GLFW_OPENGL_PROFILE, GLFW_OPENGL_CORE_PROFILE);
        glfw_->window_hint_string(GLFW_X11_CLASS_NAME, "hearth");
        window_ = glfw_->create_window(gui_->prefs().width, gui_->prefs().height, "Hearth", nullptr,
                                       nullptr);
        if (window_ == nullptr) return no_window("OpenGL 3.3 is not there");
        glfw_->set_size_limits(window_, 400, 300, GLFW_DONT_CARE, GLFW_DONT_CARE);
        glfw_->make_current(window_);
        glfw_->swap_interval(1);
        if (!textures_.load(glfw_->get_proc_address)) return no_window("OpenGL lacks a function");
        context_ = ImGui::CreateContext();
        ImGui::GetIO().IniFilename = nullptr;
        ImGui::GetStyle().AntiAliasedLinesUseTex = false;
        if (!ImGui_ImplOpenGL3_Init("#version 330 core")) return no_window("OpenGL 3.3 fails");
        gl_ready_ = true;
        connect();
        if (!options.no_log && !probe_) {
            first_.listen(options.paths.state_dir, [this] {
                raise_ = true;
                glfw_->post_empty_event();
            });
        }
        return {};
    }

    int run() {
        double last_frame = -1, next_tick = 0;
        const double frame_time = 1.0 / refresh_rate();
        while (glfw_->should_close(window_) == 0 && !gui_->quit_wanted && caught_signal() == 0) {
            if (chat_.pump(0)) dirty_ = 2;
            if (raise_.exchange(false)) raise();
            const double now = glfw_->get_time();
            if (now >= next_tick) {
                next_tick = now + kTickS;
                tick();
            }
            if (gui_->next_frame() <= now) dirty_ = std::max(dirty_, 1);
            if (dirty_ > 0 && now - last_frame >= frame_time) {
                last_frame = now;
                --dirty_;
                draw(now);
                if (probe_ && !probe_(*gui_, frame_time_)) break;
                continue;
            }
            double wait = std::min(gui_->next_frame(), next_tick) - now;
            if (dirty_ > 0) wait = std::min(wait, last_frame + frame_time - now);
            glfw_->wait_events_timeout(std::clamp(wait, 0.001, kTickS));
        }
        return caught_signal() != 0 ? 128 + caught_signal() : 0;
    }

  private:
    tl::unexpected<Error> no_window(const char* what) {
        const char* reason = nullptr;
        glfw_->get_error(&reason);
        return fail(Errc::failed, "{}{}{}", what, reason != nullptr ? ": " : "",
                    reason != nullptr ? reason : "");
    }

    double refresh_rate() const {
        GLFWmonitor* monitor = glfw_->get_primary_monitor();
        const GLFWvidmode* mode = monitor != nullptr ? glfw_->get_video_mode(monitor) : nullptr;
        return mode != nullptr && mode->refreshRate >= 30 ? mode->refreshRate : 60;
    }

    /// To the front; where the desktop does not allow that, the window asks for attention.
    void raise() {
        glfw_->restore_window(window_);
        glfw_->show_window(window_);
        glfw_->request_attention(window_);
        glfw_->focus_window(window_);
        dirty_ = 2;
    }

    void tick() {
        if (gui_->look_for_news()) dirty_ = 2;
    }

    void connect() {
        self_ = this;
        glfw_->set_user_pointer(window_, this);
        chat_.set_wake([table = glfw_.get()] { table->post_empty_event(); });
        gui_->ui().set_clipboard = [this](const std::string& text) {
            glfw_->set_clipboard(window_, text.c_str());
        };
        gui_->ui().clipboard = [this] {
            const char* text = glfw_->get_clipboard(window_);
            return std::string(text != nullptr ? text : "");
        };
        gui_->open_link = open_in_browser;
        connect_keys();
        connect_pointer();
        const auto redraw = [](GLFWwindow*) { self_->dirty_ = 2; };
        glfw_->set_refresh_callback(window_, redraw);
        glfw_->set_size_callback(window_, [](GLFWwindow*, int, int) { self_->dirty_ = 2; });
        glfw_->set_focus_callback(window_, [](GLFWwindow*, int) {
            self_->composition_.reset();
            self_->dirty_ = 2;
        });
        cursors_[1] = glfw_->create_standard_cursor(GLFW_IBEAM_CURSOR);
        cursors_[2] = glfw_->create_standard_cursor(GLFW_HAND_CURSOR);
        cursors_[3] = glfw_->create_standard_cursor(GLFW_HRESIZE_CURSOR);
    }

    void connect_keys() {
        glfw_->set_key_callback(
            window_, [](GLFWwindow*, int key, int scancode, int action, int mods) {
                Window& w = *self_;
                w.dirty_ = 2;
                w.input_.mods = {(mods & GLFW_MOD_SHIFT) != 0, (mods & GLFW_MOD_CONTROL) != 0,
                                 (mods & GLFW_MOD_ALT) != 0};
                if (action == GLFW_RELEASE) return;
                KeyIn in;
                in.key = static_cast<Key>(key);
                if (w.composition_.take(in.key, w.input_.mods, (mods & GLFW_MOD_SUPER) != 0)) {
                    return;
                }
                // Letters mean what is printed on the key, whatever the layout.
                const char* name = key < 256 ? w.glfw_->get_key_name(key, scancode) : nullptr;
                if (name != nullptr && name[0] >= 'a' && name[0] <= 'z' && name[1] == '\0') {
                    in.key = static_cast<Key>(name[0] - 'a' + 'A');
                }
                in.mods = w.input_.mods;
                in.repeat = action == GLFW_REPEAT;
                w.input_.keys.push_back(in);
            });
        glfw_->set_char_callback(window_, [](GLFWwindow*, unsigned character) {
            self_->composition_.character();
            KeyIn in;
            in.character = character;
            self_->input_.keys.push_back(in);
            self_->dirty_ = 2;
        });
        glfw_->set_drop_callback(window_, [](GLFWwindow*, int n, const char** paths) {
            for (int i = 0; i < n; ++i) self_->input_.dropped.emplace_back(paths[i]);
            self_->dirty_ = 2;
        });
    }

    void connect_pointer() {
        glfw_->set_cursor_pos_callback(window_, [](GLFWwindow*, double x, double y) {
            self_->input_.mouse = ImVec2(static_cast<float>(x) * self_->pixels_per_unit_,
                                         static_cast<float>(y) * self_->pixels_per_unit_);
            self_->dirty_ = std::max(self_->dirty_, 1);
        });
        glfw_->set_cursor_enter_callback(window_, [](GLFWwindow*, int entered) {
            if (entered == 0) self_->input_.mouse = ImVec2(-1, -1);
            self_->dirty_ = 2;
        });
        glfw_->set_scroll_callback(window_, [](GLFWwindow*, double x, double y) {
            self_->input_.wheel.x += static_cast<float>(x);
            self_->input_.wheel.y += static_cast<float>(y);
            self_->dirty_ = 2;
        });
        glfw_->set_mouse_button_callback(window_, [](GLFWwindow*, int button, int action, int) {
            Window& w = *self_;
            w.dirty_ = 2;
            if (button == GLFW_MOUSE_BUTTON_LEFT) w.edges_.push_back(action == GLFW_PRESS);
            if (button == GLFW_MOUSE_BUTTON_MIDDLE && action == GLFW_PRESS) {
                w.input_.middle_pressed = true;
            }
        });
    }

    /// One edge of the button a frame: a press and its release are never in the same one.
    void take_edge(double now) {
        input_.pressed = input_.released = false;
        if (edges_.empty()) return;
        const bool press = edges_.front();
        edges_.erase(edges_.begin());
        input_.down = press;
        (press ? input_.pressed : input_.released) = true;
        if (press) {
            const bool near = std::fabs(input_.mouse.x - click_at_.x) < kDoubleClickPx &&
                              std::fabs(input_.mouse.y - click_at_.y) < kDoubleClickPx;
            input_.clicks = near && now - click_s_ < kDoubleClickS ? input_.clicks % 3 + 1 : 1;
            click_s_ = now;
            click_at_ = input_.mouse;
        }
        if (!edges_.empty()) dirty_ = std::max(dirty_, 1);
    }

    void draw(double now) {
        int width = 0, height = 0, window_width = 0, window_height = 0;
        glfw_->get_framebuffer_size(window_, &width, &height);
        glfw_->get_window_size(window_, &window_width, &window_height);
        if (width <= 0 || height <= 0) return;
        float scale_x = 1, scale_y = 1;
        glfw_->get_content_scale(window_, &scale_x, &scale_y);
        pixels_per_unit_ =
            static_cast<float>(width) / static_cast<float>(std::max(window_width, 1));
        take_edge(now);
        input_.size = ImVec2(static_cast<float>(width), static_cast<float>(height));
        input_.scale = std::clamp(scale_x, 0.75f, 4.0f);
        input_.now_s = now;
        ImGuiIO& io = ImGui::GetIO();
        io.DisplaySize = input_.size;
        io.DeltaTime = 1.0f / 60.0f;
        if (probe_) cpu_before_ms_ = processor_ms();
        ImGui_ImplOpenGL3_NewFrame();
        // Shapes are drawn with the glyphs' texture: one draw call where there were many.
        io.Fonts->TexUvWhitePixel = GlyphAtlas::white();
        ImGui::NewFrame();
        gui_->frame(*ImGui::GetBackgroundDrawList(), input_);
        ImGui::Render();
        present(now, width, height);
        input_.keys.clear();
        input_.dropped.clear();
        input_.wheel = ImVec2(0, 0);
        input_.middle_pressed = false;
        const auto shape = static_cast<std::size_t>(gui_->ui().cursor);
        if (shape != cursor_) glfw_->set_cursor(window_, cursors_[shape]);
        cursor_ = shape;
        if (const std::string title = gui_->title(); title != title_) {
            title_ = title;
            glfw_->set_title(window_, title.c_str());
        }
    }

    /// Puts what was drawn onto the screen.
    void present(double began, int width, int height) {
        const double drawn = glfw_->get_time();
        gui_->finish_frame();
        textures_.clear(width, height, gui_->theme()[Ink::back]);
        ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
        const double rendered = glfw_->get_time();
        glfw_->swap_buffers(window_);
        frame_time_.panels_ms = (drawn - began) * 1000;
        frame_time_.render_ms = (rendered - drawn) * 1000;
        frame_time_.swap_ms = (glfw_->get_time() - rendered) * 1000;
        frame_time_.cpu_ms = processor_ms() - cpu_before_ms_;
        frame_time_.vertices = ImGui::GetDrawData()->TotalVtxCount;
        frame_time_.draw_calls = 0;
        for (int i = 0; i < ImGui::GetDrawData()->CmdListsCount; ++i) {
            frame_time_.draw_calls += ImGui::GetDrawData()->CmdLists[i]->CmdBuffer.Size;
        }
    }

    ChatController& chat_;
    WindowProbe probe_;
    FrameTime frame_time_;
    double cpu_before_ms_ = 0;  ///< at the begin of the frame
    std::unique_ptr<GlfwTable> glfw_;
    GLFWwindow* window_ = nullptr;
    ImGuiContext* context_ = nullptr;
    GlTextures textures_;
    std::unique_ptr<Gui> gui_;
    Input input_;
    Composition composition_;
    std::vector<bool> edges_;  ///< presses and releases that no frame has seen
    double click_s_ = -1;
    ImVec2 click_at_;
    float pixels_per_unit_ = 1;
    int dirty_ = 3;  ///< frames still to draw
    GLFWcursor* cursors_[4] = {};
    std::size_t cursor_ = 0;
    std::string title_;
    bool started_ = false, gl_ready_ = false;
    std::atomic<bool> raise_{false};
    FirstWindow first_;  ///< last: its thread uses what is above
    /// GLFW calls back without state; there is one window.
    static inline Window* self_ = nullptr;
};

}  // namespace

Result<int> run_window(ChatController& chat, const Options& options, WindowProbe probe) {
    Window window(chat, std::move(probe));
    HEARTH_TRY_VOID(window.open(options));
    return window.run();
}

}  // namespace hearth::gui
