#!/usr/bin/env python3
"""Pictures of the window in its states, to be looked at: themes, scales, scripts, dialogs, errors.

    HEARTH=build/bin/hearth HEARTH_TEST_MODELS=DIR window_look.py FOLDER [NAME...]

Not a test: a person judges the pictures. Needs what window_test.py needs, and xprop.
"""

import json
import os
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from window_test import Desk, home_with_starter, program  # noqa: E402

SCRIPTS = """Every script, in one answer:

| language | hello | the cat sleeps |
|---|---|---|
| Chinese | 你好，世界 | 猫在睡觉。 |
| Japanese | こんにちは | 猫が寝ています。 |
| Korean | 안녕하세요 | 고양이가 자고 있어요. |
| Arabic | مرحبا بالعالم | القطة نائمة. |
| Hebrew | שלום עולם | החתול ישן. |
| Hindi | नमस्ते दुनिया | बिल्ली सो रही है। |
| Thai | สวัสดีชาวโลก | แมวกำลังนอนหลับ |
| Greek | Γειά σου Κόσμε | Η γάτα κοιμάται. |
| Russian | Привет, мир | Кошка спит. |

السلام عليكم ورحمة الله — هذه فقرة كاملة من اليمين إلى اليسار مع رقم 42 وكلمة English في الوسط.

中文排版：句子里的标点不会出现在行首，括号（像这样）也不会被拆开；这一段足够长，可以看到换行的位置是不是正确，以及“引号”的样子。

Emoji: 😀 🚀 👩‍💻 👨‍👩‍👧‍👦 🏳️‍🌈 👍🏽 🇯🇵 ❤️ and 𠮷野家."""

MARKDOWN = """# How it works

A **local** model answers from *this* machine; `hearth ls` shows which. See
[the notes](https://example.org/notes).

1. The text becomes tokens.
2. The tokens become a prompt:
   - what was computed stays
   - only the rest is read
3. The answer streams in.

> Nothing leaves the machine.
> Not even a version check.

```cpp
// Greatest common divisor.
int gcd(int a, int b) {
    while (b != 0) a = std::exchange(b, a % b);
    return a;  // "done"
}
```

| model | size | speed |
|:--|--:|:-:|
| small | 98 MB | 152 tokens/s |
| larger | 1.12 GB | 32 tokens/s |

The area is \\(\\pi r^2\\), and \\[ x = \\frac{-b \\pm \\sqrt{b^2 - 4ac}}{2a} \\]

It costs $5, or $10 for two."""


def chat(*texts):
    roles = ("user", "assistant")
    return [{"role": roles[i % 2], "content": text} for i, text in enumerate(texts)]


CHATS = [
    ("Plan a garden", chat("What grows in the shade?", "Ferns, hostas and *woodruff*.")),
    ("购物清单", chat("写一个购物清单", "- 牛奶\n- 面包\n- 苹果")),
    ("وصفة", chat("أعطني وصفة", "خذ كوبين من الدقيق.")),
    ("Every script", chat("Say hello in every script: 你好 مرحبا שלום नमस्ते 😀", SCRIPTS)),
    ("How it works", chat(
        "How does it work?",
        "<think>\nThe user wants an overview. Keep it short.\n</think>\n\n" + MARKDOWN)),
]


class Look:
    def __init__(self, keep):
        self.keep = keep
        self.folder = home_with_starter()
        self.desk = None

    def prefs(self, **values):
        state = os.path.join(self.folder, ".local/state/hearth")
        os.makedirs(state, exist_ok=True)
        with open(os.path.join(state, "window.json"), "w") as file:
            json.dump(values, file)

    def fill(self, env):
        for i, (title, messages) in enumerate(CHATS):
            path = os.path.join(self.folder, "chat%d.json" % i)
            with open(path, "w") as file:
                json.dump({"title": title, "messages": messages}, file)
            subprocess.run([program(), "import", path], env=env, check=True, capture_output=True)

    def open(self, size="1280x900", dpi=0, filled=True, **prefs):
        self.close()
        self.desk = Desk(self.folder, self.keep, size)
        if dpi:
            subprocess.run(["xprop", "-root", "-f", "RESOURCE_MANAGER", "8s", "-set",
                            "RESOURCE_MANAGER", "Xft.dpi:\t%d\n" % dpi], env=self.desk.env,
                           check=True)
        if filled:
            self.fill(self.desk.env)
        width, height = size.split("x")
        self.prefs(**{"width": int(width), "height": int(height), **prefs})
        self.desk.start("window")
        self.desk.xdotool("windowmove", self.desk.window, "0", "0")
        time.sleep(0.5)
        if filled:
            self.key("Return")  # the first model of the list

    def key(self, *names):
        for name in names:
            self.desk.key(name)
            time.sleep(0.25)

    def goto(self, title):
        self.key("ctrl+k")
        self.desk.type(title)
        time.sleep(0.8)
        self.key("Return")
        time.sleep(0.8)

    def shot(self, name, settle=True):
        """The picture that stays: software OpenGL on a busy machine may take its time."""
        time.sleep(0.4)
        before = None
        for _ in range(20 if settle else 1):
            with open(self.desk.shot(name), "rb") as file:
                now = file.read()
            if now == before:
                break
            before = now
            time.sleep(0.4)
        print(os.path.join(self.keep, name + ".png"), flush=True)

    def close(self):
        if self.desk is not None:
            self.desk.stop()
        self.desk = None


def first(look):
    look.open(filled=False)
    look.shot("first-start")


def themes(look):
    for theme in ("light", "dark", "light high contrast", "dark high contrast"):
        look.open(theme=theme, inspector=theme == "dark")
        look.goto("How it works")
        look.shot("chat-" + theme.replace(" ", "-"))


def scripts(look):
    for theme, dpi, size in (("light", 0, "1280x900"), ("dark", 192, "2560x1800")):
        look.open(size=size, dpi=dpi, theme=theme)
        look.goto("Every script")
        look.shot("scripts-" + theme)


def dialogs(look):
    look.open(theme="light")
    look.goto("Plan")
    for key, name in (("ctrl+k", "palette"), ("ctrl+l", "models"), ("ctrl+comma", "settings"),
                      ("F1", "shortcuts"), ("F2", "rename")):
        look.key(key)
        look.shot("dialog-" + name)
        look.key("Escape")
    look.key("ctrl+f")
    look.desk.type("shade")
    look.shot("find")
    look.key("Escape")
    look.key("ctrl+shift+d")
    look.shot("deleted")


def talk(look):
    look.open(theme="dark", inspector=True)
    look.desk.type("Write a long story about a lighthouse.")
    look.key("Return")
    time.sleep(2.5)
    look.shot("streaming", settle=False)
    look.key("Escape")
    time.sleep(0.8)
    look.shot("stopped")
    look.key("ctrl+r")
    time.sleep(2.0)
    look.key("Escape")
    time.sleep(0.8)
    look.shot("versions")
    look.key("Up")
    look.shot("editing")


def scales(look):
    for dpi in (120, 144, 168, 192, 288):
        scale = dpi / 96
        look.open(size="%dx%d" % (1000 * scale, 700 * scale), dpi=dpi, theme="light")
        look.goto("How it works")
        look.shot("scale-%d" % (100 * scale))


def narrow(look):
    look.open(size="480x700", theme="light")
    look.goto("How it works")
    look.shot("narrow")


def readme(look):
    """The picture of the main README."""
    look.open(size="1280x800", theme="light", inspector=True)
    look.goto("Every script")
    look.shot("window")


STATES = {f.__name__: f for f in (readme, first, themes, scripts, dialogs, talk, scales, narrow)}


def main():
    keep = os.path.abspath(sys.argv[1])
    os.makedirs(keep, exist_ok=True)
    for name in sys.argv[2:] or STATES:
        look = Look(keep)
        try:
            STATES[name](look)
        finally:
            look.close()
            shutil.rmtree(look.folder, ignore_errors=True)


if __name__ == "__main__":
    main()
