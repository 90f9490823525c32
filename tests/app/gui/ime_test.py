#!/usr/bin/env python3
"""Chinese typed through a real input method: fcitx5 with pinyin over XIM, under Xvfb.

    HEARTH=build/bin/hearth HEARTH_TEST_MODELS=DIR ime_test.py [--keep FOLDER]

Needs fcitx5, fcitx5-pinyin and dbus besides what window_test.py needs. Return and Escape during the
composition belong to the input method: neither sends a message nor closes anything.
"""

import argparse
import os
import shutil
import sqlite3
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from window_test import Desk, home_with_starter, messages, stored  # noqa: E402

PROFILE = """[Groups/0]
Name=Default
Default Layout=us
DefaultIM=pinyin

[Groups/0/Items/0]
Name=keyboard-us
Layout=

[Groups/0/Items/1]
Name=pinyin
Layout=

[GroupOrder]
0=Default
"""


def draft(folder):
    path = os.path.join(folder, ".local/share/hearth/hearth.db")
    if not os.path.exists(path):
        return ""
    with sqlite3.connect("file:%s?mode=ro" % path, uri=True) as db:
        rows = db.execute("select text from drafts").fetchall()
    return "".join(row[0] for row in rows)


def run(desk, folder):
    desk.start("window")
    desk.key("Return")  # the first model of the list
    time.sleep(1.5)
    desk.key("ctrl+space")  # the input method goes on
    time.sleep(1.0)
    desk.type("nihao")
    time.sleep(1.0)
    desk.shot("composing")
    if messages(folder):
        raise SystemExit("FAILED: a composition sent a message")
    desk.key("space")
    time.sleep(0.5)
    desk.type("shijie")
    time.sleep(0.8)
    desk.key("1")
    desk.wait(lambda: draft(folder) == "你好世界", "what was composed is in the composer", 20)
    desk.type("hao")
    time.sleep(0.8)
    desk.key("Return")  # commits the letters as they are
    try:
        desk.wait(lambda: draft(folder) == "你好世界hao", "Return in a composition commits letters", 20)
    finally:
        desk.shot("committed")
        print("   in the composer:", draft(folder))
    if messages(folder):
        raise SystemExit("FAILED: Return in a composition sent the message")
    print("ok: and sends nothing")
    desk.shot("composed")
    desk.key("Return")
    desk.wait(lambda: stored(folder, "你好世界hao"), "Return after it sends")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--keep")
    keep = parser.parse_args().keep
    for tool in ("Xvfb", "xdotool", "import", "fcitx5", "dbus-daemon"):
        if shutil.which(tool) is None:
            raise SystemExit("this test needs %s" % tool)
    folder = home_with_starter()
    os.makedirs(os.path.join(folder, ".config/fcitx5"))
    with open(os.path.join(folder, ".config/fcitx5/profile"), "w") as file:
        file.write(PROFILE)
    desk = Desk(folder, keep)
    desk.env.update(XMODIFIERS="@im=fcitx", LC_ALL="C.UTF-8")
    bus = subprocess.Popen(["dbus-daemon", "--session", "--nofork", "--print-address=1"],
                           env=desk.env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    fcitx = None
    try:
        desk.env["DBUS_SESSION_BUS_ADDRESS"] = bus.stdout.readline().decode().strip()
        fcitx = subprocess.Popen(["fcitx5", "--disable=wayland,notificationitem"], env=desk.env,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(4.0)
        run(desk, folder)
    finally:
        desk.stop()
        for process in (fcitx, bus):
            if process is not None:
                process.terminate()
                process.wait(20)
        shutil.rmtree(folder, ignore_errors=True)
    print("Chinese is typed as it should be.")


if __name__ == "__main__":
    main()
