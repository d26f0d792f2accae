"""The command line in a child of this process: killed at a chosen moment, or on a disk that is full."""

import os
import resource
import signal
import sys
import traceback
import warnings
from pathlib import Path
from typing import NamedTuple

from spacy_ontolink.cli import main

_CHANGES = {"open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.truncate", "shutil.rmtree", "ctypes.dlsym"}
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT


class Ended(NamedTuple):
    """The exit code of a command, or minus the signal that ended it, and what it said."""

    code: int
    said: str


def run(arguments, prepare=lambda: None):
    """Run a command in a child."""
    ours, theirs = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads, which is what many users do
        child = os.fork()
    if child:
        os.close(theirs)
        with open(ours, encoding="utf-8") as pipe:
            said = pipe.read()
        return Ended(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), said)
    code = 70
    try:
        for stream in (1, 2):
            os.dup2(theirs, stream)
        sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)
        prepare()
        main([str(argument) for argument in arguments])
    except SystemExit as error:
        code = error.code
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def count_changes(folder, into):
    """Return what lets a child count the changes that it makes below a folder, and write the number into a file."""

    def prepare():
        seen = 0

        def hook(event, arguments):
            nonlocal seen
            if _is_change(event, arguments, folder):
                seen += 1
                descriptor = os.dup(counter)
                os.pwrite(descriptor, f"{seen:9}".encode(), 0)
                os.close(descriptor)

        counter = os.open(into, os.O_WRONLY | os.O_CREAT)
        sys.addaudithook(hook)

    return prepare


def die_before(number, folder):
    """Return what lets a child kill itself, as ``kill -9`` does, just before its so-manieth change below a folder."""

    def prepare():
        left = number

        def hook(event, arguments):
            nonlocal left
            if _is_change(event, arguments, folder):
                left -= 1
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(hook)

    return prepare


def _is_change(event, arguments, folder):
    if event not in _CHANGES:
        return False
    if event == "ctypes.dlsym":  # folders that change places
        return arguments[1] == "renameat2"
    if event == "open" and not (arguments[2] or 0) & _WRITES:
        return False
    return isinstance(arguments[0], str | Path) and str(arguments[0]).startswith(str(folder))


def fill_disk(size):
    """Return what lets no file of a child grow beyond so many bytes, as on a disk that is full."""

    def prepare():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return prepare
