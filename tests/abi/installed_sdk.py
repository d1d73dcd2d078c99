"""A newcomer's way, from nothing but an installed SDK: installed_sdk.py SOURCE_DIR BUILD_DIR WORK_DIR.

Installs the SDK of BUILD_DIR into an empty prefix, then builds against that alone the C example, the C++ policy that
sdk/README.md shows, and all plugins of the tree; opens every library and reads its descriptor.
"""
import ctypes
import pathlib
import re
import shutil
import subprocess
import sys

source, build, work = (pathlib.Path(argument) for argument in sys.argv[1:4])
CMAKE = "cmake"
LAUNCHER = shutil.which("ccache") or ""


class Library(ctypes.Structure):  # the part of smg_library that never moves
    _fields_ = [("magic", ctypes.c_uint32), ("abi_major", ctypes.c_uint16), ("abi_minor", ctypes.c_uint16),
                ("struct_size", ctypes.c_uint32), ("plugin_count", ctypes.c_uint32)]


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(str(word) for word in command)}\n{done.stdout[-6000:]}{done.stderr[-6000:]}")


def build_against(prefix, folder, into):
    run(CMAKE, "-S", folder, "-B", into, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=None", f"-DCMAKE_PREFIX_PATH={prefix}",
        f"-DCMAKE_C_COMPILER_LAUNCHER={LAUNCHER}", f"-DCMAKE_CXX_COMPILER_LAUNCHER={LAUNCHER}")
    run(CMAKE, "--build", into, "--parallel", "2")
    libraries = sorted(into.rglob("*.so"))
    assert libraries, f"{folder} made no library"
    return libraries


def readme_policy(into):
    page = (source / "sdk/README.md").read_text()
    into.mkdir()
    for language, name in (("cmake", "CMakeLists.txt"), ("cpp", "second_choice.cpp")):
        block = re.search(rf"```{language}\n(.*?)```", page, re.S)
        assert block, f"sdk/README.md shows no {language} block"
        (into / name).write_text(block[1])
    return into


def check(library):
    entry = ctypes.CDLL(str(library)).smg_plugin_entry
    entry.restype = ctypes.POINTER(Library)
    table = entry().contents
    assert table.magic == 0x31474D53, f"{library}: magic is {table.magic:#x}"
    assert table.plugin_count >= 1, f"{library}: names no plugin"


shutil.rmtree(work, ignore_errors=True)
work.mkdir(parents=True)
prefix = work / "prefix"
run(CMAKE, "--install", build, "--prefix", prefix, "--component", "sdk")
folders = {"example": source / "sdk/examples/policy-c", "readme": readme_policy(work / "readme-source"),
           "plugins": work / "plugins-source"}
# A copy, so that no path can lead back into the tree.
shutil.copytree(source / "plugins", folders["plugins"])
for name, folder in folders.items():
    for library in build_against(prefix, folder, work / name):
        check(library)
        print("ok", library.relative_to(work))
