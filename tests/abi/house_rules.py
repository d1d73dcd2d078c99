"""Rules about who knows whom, checked on sources and on the built libraries: house_rules.py SOURCE_DIR PLUGIN_DIR SMG."""
import pathlib
import re
import subprocess
import sys

root, plugins, smg = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
C_HEADERS = {"stddef.h", "stdint.h", "string.h", "stdlib.h", "stdio.h", "limits.h", "errno.h", "math.h", "assert.h", "float.h"}
problems = []


def sources(folder):
    return [file for file in sorted((root / folder).rglob("*")) if file.suffix in {".c", ".h", ".cpp", ".hpp"}]


def includes(file):
    return re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', file.read_text(), re.M)


for file in sources("sdk/include"):
    for name in includes(file):
        if name not in C_HEADERS and not name.startswith("smg/"):
            problems.append(f"{file}: includes {name}, which is no C standard header")
for file in sources("plugins") + sources("sdk"):
    for name in includes(file):
        if name.startswith("host/") or "/host/" in name:
            problems.append(f"{file}: includes {name} of the host")

listed = subprocess.run([smg, "plugins", "list", "--plugin-paths", plugins], check=True, capture_output=True, text=True).stdout
names = {line.split()[1] for line in listed.splitlines()}
# `http` is also the name of a scheme and of a router type in metrics; what would tie the host to the plugin is its file.
names.discard("http")
names.add("http.so")
assert len(names) >= 3, listed
for file in sources("host"):
    if file.name == "defaults.hpp" and file.parent.name == "config":
        continue
    for text in re.findall(r'"((?:[^"\\\n]|\\.)*)"', re.sub(r"//[^\n]*", "", file.read_text())):
        for name in names:
            # A word in a sentence ("a random share") is no name; the name alone, or as a path, is.
            if text == name or text.endswith("/" + name):
                problems.append(f'{file}: names the plugin {name} in "{text}"')

libraries = sorted(plugins.glob("*.so"))
assert libraries, f"no plugins in {plugins}"
for library in libraries:
    exported = [line.split()[-1] for line in subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True,
                                                            text=True).stdout.splitlines()]
    if exported != ["smg_plugin_entry"]:
        problems.append(f"{library}: exports {exported}, must export smg_plugin_entry alone")
    undefined = subprocess.run(["nm", "-D", "--undefined-only", library], check=True, capture_output=True, text=True).stdout
    if "smg" in undefined:
        problems.append(f"{library}: needs symbols of the host: {undefined}")
    unresolved = subprocess.run(["ldd", "-r", library], capture_output=True, text=True)
    lost = [line for line in (unresolved.stdout + unresolved.stderr).splitlines()
            if "undefined symbol" in line and not re.search(r"__(asan|ubsan|tsan|sanitizer)", line)]
    if lost:
        problems.append(f"{library}: {lost[0]}")
    symbols = subprocess.run(["readelf", "-sW", library], check=True, capture_output=True, text=True).stdout
    if " UNIQUE " in symbols:
        problems.append(f"{library}: has GNU-unique symbols, which pin it in memory")
    if "__cxa_thread_atexit" in symbols:
        problems.append(f"{library}: has a thread_local with a destructor, which pins it in memory")

for problem in problems:
    print(problem)
sys.exit(1 if problems else 0)
