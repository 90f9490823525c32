#!/usr/bin/env python3
"""A machine without X11: the terminal works, and what asks for a window is told what is missing.

The program runs in a root folder of its own that has the libraries it names itself (and none that
has to do with a display), the starter model, and nothing else. Only root may do that; another user
takes a user namespace, and where those are forbidden the library of the window is made unloadable.
"""

import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from cli_support import program, starter_model  # noqa: E402

DISPLAY_LIBRARIES = ("libX11", "libxcb", "libGL", "libEGL", "libglfw", "libwayland", "libOpenGL")


def needed():
    """Files of the program and of all libraries that it loads at its start."""
    out = subprocess.run(["ldd", program()], capture_output=True, text=True, check=True).stdout
    files = [word for line in out.splitlines() for word in line.split() if word.startswith("/")]
    for file in files:
        name = os.path.basename(file)
        if name.startswith(DISPLAY_LIBRARIES):
            raise SystemExit("FAILED: the program needs %s at its start" % name)
    if not any("libc.so" in file for file in files):
        raise SystemExit("FAILED: no libc among the libraries of the program: " + out)
    return files


def put(root, file, at=None):
    target = root + (at or file)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    shutil.copy(os.path.realpath(file), target)


def way_in(root):
    """What goes before the program so that it sees only that folder; nothing when that is not allowed."""
    for way in (["chroot", root], ["unshare", "--user", "--map-root-user", "chroot", root]):
        if shutil.which(way[0]) and subprocess.run([*way, "/hearth", "--version"],
                                                   capture_output=True).returncode == 0:
            return way
    print("ok: (no root folder of its own is allowed here; the window's library is spoiled instead)")
    return []


def run(root, way, *arguments, **env):
    command = [*way, "/hearth", *arguments]
    home = "/home"
    if not way:
        spoiled = os.path.join(root, "spoiled")
        os.makedirs(spoiled, exist_ok=True)
        with open(os.path.join(spoiled, "libglfw.so.3"), "wb") as file:
            file.write(b"no library" * 100)
        env["LD_LIBRARY_PATH"] = spoiled
        home = root + home
        command = [program(), *[root + a if a == "/model.gguf" else a for a in arguments]]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=300,
                          env={"HOME": home, "PATH": os.environ["PATH"], **env})
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def check(condition, sentence, found):
    if not condition:
        raise SystemExit("FAILED: %s; found: %r" % (sentence, found))
    print("ok:", sentence)


def main():
    root = tempfile.mkdtemp(prefix="hearth-no-x11-")
    try:
        put(root, program(), "/hearth")
        put(root, starter_model(), "/model.gguf")
        for file in needed():
            put(root, file)
        os.makedirs(root + "/home")
        inside = [name for _, _, names in os.walk(root) for name in names]
        check(not any(name.startswith(DISPLAY_LIBRARIES) for name in inside),
              "the folder has no library of a display", inside)

        way = way_in(root)
        code, out, err = run(root, way, "--version")
        check(code == 0 and "hearth" in out.lower(), "the program starts", (code, out, err))
        code, out, err = run(root, way, "run", "/model.gguf", "Say hello", "--temp", "0",
                             "--max-tokens", "8")
        check(code == 0 and out.strip(), "it answers in the terminal", (code, out, err))
        code, out, err = run(root, way, "window", DISPLAY=":0")
        check(code == 1 and "libglfw.so.3" in err and "libglfw3" in err and not out,
              "asked for a window it names the library and its package", (code, out, err))
        code, out, err = run(root, way, "window")
        check(code == 1 and "no display" in err and "hearth run" in err,
              "without a display it says so, and what to do", (code, out, err))
    finally:
        shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    main()
