// The icons as strokes on a 16 x 16 grid: sharp at every scale, no font needed.

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "app/gui/ui.h"

namespace hearth::gui {
namespace {

class Pen {
  public:
    Pen(ImDrawList& draw, const Rect& r, ImU32 color) : draw_(draw), rect_(r), color_(color) {}

    ImVec2 at(float x, float y) const {
        return ImVec2(rect_.x + x * rect_.w / 16, rect_.y + y * rect_.h / 16);
    }
    float width() const { return std::max(1.2f, rect_.w / 16 * 1.5f); }
    void stroke(std::initializer_list<ImVec2> points, bool closed = false) const {
        for (const ImVec2& p : points) draw_.PathLineTo(at(p.x, p.y));
        draw_.PathStroke(color_, closed ? ImDrawFlags_Closed : 0, width());
    }
    void shape(std::initializer_list<ImVec2> points) const {
        for (const ImVec2& p : points) draw_.PathLineTo(at(p.x, p.y));
        draw_.PathFillConvex(color_);
    }
    void circle(float x, float y, float r) const {
        draw_.AddCircle(at(x, y), r * rect_.w / 16, color_, 0, width());
    }
    void box(float x0, float y0, float x1, float y1, bool filled = false) const {
        const float radius = rect_.w / 16 * 2;
        if (filled) {
            draw_.AddRectFilled(at(x0, y0), at(x1, y1), color_, radius);
        } else {
            draw_.AddRect(at(x0, y0), at(x1, y1), color_, radius, 0, width());
        }
    }
    void arc(float x, float y, float r, float from, float to) const {
        draw_.PathArcTo(at(x, y), r * rect_.w / 16, from, to);
        draw_.PathStroke(color_, 0, width());
    }

  private:
    ImDrawList& draw_;
    const Rect& rect_;
    ImU32 color_;
};

}  // namespace

void Ui::icon(Icon which, const Rect& rect, Ink ink) {
    const Pen pen(*draw_, rect, theme()[ink]);
    switch (which) {
        case Icon::none:
            break;
        case Icon::plus:
            pen.stroke({{8, 3}, {8, 13}});
            pen.stroke({{3, 8}, {13, 8}});
            break;
        case Icon::cross:
            pen.stroke({{4, 4}, {12, 12}});
            pen.stroke({{12, 4}, {4, 12}});
            break;
        case Icon::search:
            pen.circle(7, 7, 4.2f);
            pen.stroke({{10.2f, 10.2f}, {13.5f, 13.5f}});
            break;
        case Icon::send:
            pen.stroke({{8, 13}, {8, 3.5f}});
            pen.stroke({{4, 7.5f}, {8, 3.5f}, {12, 7.5f}});
            break;
        case Icon::stop:
            pen.box(4, 4, 12, 12, true);
            break;
        case Icon::menu:
            for (const float y : {4.5f, 8.0f, 11.5f}) pen.stroke({{3, y}, {13, y}});
            break;
        case Icon::panel:
            pen.box(2.5f, 3.5f, 13.5f, 12.5f);
            pen.stroke({{9.5f, 3.5f}, {9.5f, 12.5f}});
            break;
        case Icon::chevron_left:
            pen.stroke({{9.5f, 4}, {5.5f, 8}, {9.5f, 12}});
            break;
        case Icon::chevron_right:
            pen.stroke({{6.5f, 4}, {10.5f, 8}, {6.5f, 12}});
            break;
        case Icon::chevron_down:
            pen.stroke({{4, 6.5f}, {8, 10.5f}, {12, 6.5f}});
            break;
        case Icon::arrow_down:
            pen.stroke({{8, 3}, {8, 12.5f}});
            pen.stroke({{4, 8.5f}, {8, 12.5f}, {12, 8.5f}});
            break;
        case Icon::copy:
            pen.box(5.5f, 5.5f, 13, 13);
            pen.stroke({{10.5f, 3}, {3, 3}, {3, 10.5f}});
            break;
        case Icon::pencil:
            pen.stroke({{3, 13}, {3.5f, 10}, {11, 2.8f}, {13.2f, 5}, {6, 12.5f}}, true);
            break;
        case Icon::refresh:
            pen.arc(8, 8, 4.8f, -0.6f, 4.4f);
            pen.stroke({{12.9f, 2.2f}, {12.4f, 5.6f}, {9.2f, 5}});
            break;
        case Icon::trash:
            pen.stroke({{3, 4.5f}, {13, 4.5f}});
            pen.stroke({{4.5f, 4.5f}, {5.2f, 13}, {10.8f, 13}, {11.5f, 4.5f}});
            pen.stroke({{6.5f, 4.5f}, {6.5f, 2.8f}, {9.5f, 2.8f}, {9.5f, 4.5f}});
            break;
        case Icon::pin:
            pen.stroke({{5, 2.5f}, {11, 2.5f}, {10, 7}, {12.5f, 9.5f}, {3.5f, 9.5f}, {6, 7}}, true);
            pen.stroke({{8, 9.5f}, {8, 14}});
            break;
        case Icon::check:
            pen.stroke({{3, 8.5f}, {6.5f, 12}, {13, 4.5f}});
            break;
        case Icon::branch:
            pen.circle(4.5f, 4, 1.6f);
            pen.circle(4.5f, 12, 1.6f);
            pen.circle(11.5f, 5.5f, 1.6f);
            pen.stroke({{4.5f, 5.6f}, {4.5f, 10.4f}});
            pen.stroke({{11.5f, 7.1f}, {11, 8.6f}, {4.5f, 9.6f}});
            break;
        case Icon::play:
            pen.shape({{5, 3.5f}, {12.5f, 8}, {5, 12.5f}});
            break;
    }
}

}  // namespace hearth::gui
