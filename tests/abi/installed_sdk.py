"""A newcomer's way, from nothing but an installation: installed_sdk.py SOURCE_DIR BUILD_DIR WORK_DIR.

Installs gateway and SDK of BUILD_DIR into an empty prefix, then builds against that alone a project of every template,
made by `smg plugins new`, the examples, the policy that sdk/README.md shows, and all plugins of the tree. Opens every
library and reads its descriptor, has the gateway list them, and the referee check those that are not the tree's own.
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
    return done


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


def from_template(smg, kind, language):
    """A project under a name that no template has."""
    name = f"{kind}_in_{language}"
    run(smg, "plugins", "new", name, "--kind", kind, "--lang", "c++" if language == "cpp" else language, "--dir", work / name)
    leftover = [file for file in (work / name).rglob("*") if file.is_file() and re.search("my[-_]plugin", file.read_text())]
    assert not leftover, f"{leftover} still name the template"
    return work / name


def check(library):
    entry = ctypes.CDLL(str(library)).smg_plugin_entry
    entry.restype = ctypes.POINTER(Library)
    table = entry().contents
    assert table.magic == 0x31474D53, f"{library}: magic is {table.magic:#x}"
    assert table.plugin_count >= 1, f"{library}: names no plugin"
    exported = run("nm", "-D", "--defined-only", library).stdout.split()[2::3]
    assert exported == ["smg_plugin_entry"], f"{library}: exports {exported}"


shutil.rmtree(work, ignore_errors=True)
work.mkdir(parents=True)
prefix = work / "prefix"
for component in ("sdk", "Unspecified"):
    run(CMAKE, "--install", build, "--prefix", prefix, "--component", component)
smg, referee, sdk = prefix / "bin/smg", prefix / "bin/smg-plugin-check", prefix / "share/smg/sdk"
folders = {"readme": readme_policy(work / "readme-source"), "plugins": work / "plugins-source"}
# A copy, so that no path can lead back into the tree.
shutil.copytree(source / "plugins", folders["plugins"])
for example in sorted((sdk / "examples").iterdir()):
    folders[example.name] = example
for template in sorted((sdk / "templates").iterdir()):
    kind, language = template.name.split("-")
    if language == "rust" and shutil.which("rustc") is None:
        print(f"skipped {template.name}: there is no rustc here (apt-get install rustc)")
        continue
    folders[template.name] = from_template(smg, kind, language)

for page in sorted([sdk / "README.md", *sdk.glob("docs/*.md"), *sdk.glob("examples/*/*.md")]):
    prose = re.sub(r"```.*?```", "", page.read_text(), flags=re.S)
    for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", prose):
        assert (page.parent / link).exists(), f"{page.relative_to(sdk)} links to {link}, which is not installed"

for name, folder in folders.items():
    libraries = build_against(prefix, folder, work / "build" / name)
    for library in libraries:
        check(library)
        print("ok", library.relative_to(work))
    done = run(smg, "plugins", "list", "--plugin-paths", *libraries)
    assert not done.stderr and len(done.stdout.splitlines()) >= len(libraries), f"{name}: {done.stdout}{done.stderr}"
    if name != "plugins" and referee.exists():
        for library in libraries:
            run(referee, library)
            print("checked", library.relative_to(work))
