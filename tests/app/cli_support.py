"""What the tests of the command line share: the program in a home folder of its own, the starter
model, small model files made to be refused, a terminal.

Every test gets a fresh folder; nothing outside of it is written. HEARTH is the program,
HEARTH_TEST_MODELS the folder with the starter model.
"""

import json
import os
import pty
import resource
import select
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time
import unittest

STARTER = "smollm2-135m-q4_1.gguf"
TIMEOUT_S = 120


def program():
    return os.path.abspath(os.environ.get("HEARTH", "build/bin/hearth"))


def starter_model():
    folder = os.environ.get("HEARTH_TEST_MODELS") or os.path.expanduser("~/.cache/hearth-models")
    return os.path.join(folder, STARTER)


class Done:
    """How a run ended."""

    def __init__(self, code, out, err):
        self.code = code  # 128 + signal when a signal ended it
        self.out = out  # bytes
        self.err = err.decode("utf-8", "replace")

    @property
    def text(self):
        return self.out.decode("utf-8")

    @property
    def json(self):
        return json.loads(self.out)


def shell_code(returncode):
    return 128 - returncode if returncode < 0 else returncode


class CommandLine(unittest.TestCase):
    """A fresh home folder for each test."""

    maxDiff = 2000

    @classmethod
    def setUpClass(cls):
        cls.model = starter_model()
        if not os.path.exists(cls.model):
            sys.exit("the model %s is not there; packaging/fetch_models.sh gets it, "
                     "HEARTH_TEST_MODELS names its folder" % cls.model)

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="hearth-cli-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.home = os.path.join(self.folder, "home")
        os.mkdir(self.home)
        self.data = os.path.join(self.folder, "data")
        self.env = {"HOME": self.home, "PATH": os.environ.get("PATH", ""), "LC_ALL": "C.UTF-8",
                    "TERM": "xterm-256color", "TZ": "UTC"}

    def command(self, arguments, data=True):
        return [program(), *(["--data-dir", self.data] if data else []), *arguments]

    def start(self, *arguments, env=None, data=True, **popen):
        popen.setdefault("bufsize", 0)  # what a test reads is not more than it asks for
        popen.setdefault("stdin", subprocess.DEVNULL)
        popen.setdefault("stdout", subprocess.PIPE)
        popen.setdefault("stderr", subprocess.PIPE)
        return subprocess.Popen(self.command(arguments, data), env=dict(self.env, **(env or {})),
                                cwd=self.folder, **popen)

    def hearth(self, *arguments, stdin=None, env=None, data=True, **popen):
        """Runs it to its end; stdin is bytes, or nothing (/dev/null)."""
        if stdin is not None:
            popen["stdin"] = subprocess.PIPE
        process = self.start(*arguments, env=env, data=data, **popen)
        try:
            out, err = process.communicate(stdin, timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            self.fail("no end after %d s: %s\n%s%s" % (TIMEOUT_S, " ".join(arguments), out, err))
        return Done(shell_code(process.returncode), out or b"", err or b"")

    def ask(self, *arguments, **more):
        """A short answer of the starter model, greedy: the same at every call."""
        return self.hearth("run", self.model, "--temp", "0", "--max-tokens", "12", *arguments,
                           **more)

    def assertCode(self, done, code):
        self.assertEqual(done.code, code, "stdout: %r\nstderr: %s" % (done.out[:500], done.err))

    def assertSentence(self, done, code, *words):
        """Nothing on stdout, one line on stderr that begins like a message and has the words."""
        self.assertCode(done, code)
        self.assertEqual(done.out, b"")
        lines = done.err.rstrip("\n").split("\n")
        self.assertEqual(len(lines), 1, done.err)
        self.assertTrue(lines[0].startswith("hearth: "), done.err)
        for word in words:
            self.assertIn(word, lines[0])

    def database(self):
        db = sqlite3.connect(os.path.join(self.data, "hearth.db"), timeout=30)
        self.addCleanup(db.close)
        return db

    def messages(self):
        """(role, content, state) of all messages, in order of their making; [] before there are any."""
        if not os.path.exists(os.path.join(self.data, "hearth.db")):
            return []
        db = self.database()
        try:
            return db.execute("SELECT role, content, state FROM messages ORDER BY id").fetchall()
        except sqlite3.OperationalError:  # it is being made
            return []
        finally:
            db.close()

    def files_below(self, folder):
        return sorted(os.path.relpath(os.path.join(where, name), folder)
                      for where, folders, files in os.walk(folder) for name in files + folders)

    def path(self, name, content=b""):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        return path


def wait_for(condition, seconds):
    """True as soon as the condition holds; false when it does not in time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def limit_file_size(n_bytes):
    """For preexec_fn: a disk that is full as soon as a file would be longer than this."""
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, n_bytes))
    return limit


def in_terminal(command, env, cwd, typed=b"", seconds=TIMEOUT_S):
    """Runs the command with a terminal as stdin, stdout and stderr: (exit code, all that it wrote)."""
    pid, master = pty.fork()
    if pid == 0:
        os.chdir(cwd)
        os.execve(command[0], command, env)
    if typed:
        os.write(master, typed)
    screen, end = b"", time.monotonic() + seconds
    while time.monotonic() < end:
        if not select.select([master], [], [], 0.1)[0]:
            continue
        try:
            piece = os.read(master, 65536)
        except OSError:  # the other side is closed
            break
        if not piece:
            break
        screen += piece
    else:
        os.kill(pid, signal.SIGKILL)
    status = os.waitpid(pid, 0)[1]
    os.close(master)
    return shell_code(os.waitstatus_to_exitcode(status)), screen


# --- model files that must be refused ------------------------------------------------------------

def gguf_string(text):
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def gguf(metadata=(), tensors=(), version=3, magic=b"GGUF", n_metadata=None, n_tensors=None,
         data=b""):
    """A model file: metadata [(key, type, bytes)], tensors [(name, shape, type, offset)]."""
    out = magic + struct.pack("<IQQ", version, len(tensors) if n_tensors is None else n_tensors,
                              len(metadata) if n_metadata is None else n_metadata)
    for key, kind, value in metadata:
        out += gguf_string(key) + struct.pack("<I", kind) + value
    for name, shape, kind, offset in tensors:
        out += gguf_string(name) + struct.pack("<I", len(shape))
        out += b"".join(struct.pack("<Q", n) for n in shape) + struct.pack("<IQ", kind, offset)
    out += b"\0" * (-len(out) % 32)
    return out + data


def architecture(name):
    return ("general.architecture", 8, gguf_string(name))


def bad_files(model):
    """name -> bytes: a sample of each kind of badness; the reader's own tests have all of them."""
    with open(model, "rb") as file:
        begin = file.read(4 << 20)
    flipped = bytearray(begin)
    flipped[8:16] = struct.pack("<Q", 1 << 60)
    return {
        "empty.gguf": b"",
        "text.gguf": b"This is not a model.\n",
        "short.gguf": b"GGUF\x03",
        "zeros.gguf": b"\0" * 4096,
        "zip.gguf": b"PK\x03\x04" + b"\0" * 100,
        "safetensors.gguf": struct.pack("<Q", 20) + b'{"__metadata__":{}}  ',
        "ggml.gguf": b"lmgg" + b"\0" * 100,
        "version1.gguf": gguf(version=1),
        "version99.gguf": gguf(version=99),
        "other-endian.gguf": b"GGUF" + struct.pack(">IQQ", 3, 0, 0) + b"\0" * 64,
        "nothing-inside.gguf": gguf(),
        "no-family.gguf": gguf([("general.name", 8, gguf_string("x"))]),
        "unknown-family.gguf": gguf([architecture("gptj")]),
        "no-shape.gguf": gguf([architecture("llama")]),
        "endless-string.gguf": gguf([("general.architecture", 8, struct.pack("<Q", 1 << 62))]),
        "endless-array.gguf": gguf([architecture("llama"),
                                    ("x", 9, struct.pack("<IQ", 4, 1 << 61))]),
        "unknown-value.gguf": gguf([("x", 77, b"\0" * 8)]),
        "too-many-tensors.gguf": gguf([architecture("llama")], n_tensors=1 << 62),
        "too-many-keys.gguf": gguf(n_metadata=1 << 62),
        "unknown-type.gguf": gguf([architecture("llama")], [("w", [32], 250, 0)]),
        "beyond-the-end.gguf": gguf([architecture("llama")], [("w", [32], 0, 1 << 40)]),
        "shape-overflow.gguf": gguf([architecture("llama")],
                                    [("w", [1 << 33, 1 << 33], 0, 0)], data=b"\0" * 128),
        "cut-in-the-header.gguf": begin[:100_000],
        "cut-in-the-weights.gguf": begin,
        "count-changed.gguf": bytes(flipped),
    }
