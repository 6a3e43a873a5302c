# Checks that every option in the help of a command is on its page of docs/contract, and that every
# option in the synopsis of the page is in the help with a description.
# argv: the `pe` program, the directory docs/contract.
import os
import re
import subprocess
import sys

pe, pages = sys.argv[1:]
BARE = re.compile(r"^  (--[a-z-]+)(?: [A-Z]+)?(?:=\S*)?\n(?! {20})", re.M)
OPTION = re.compile(r"(?<![\w-])(--?[a-z][a-z-]*)")
# Commands that also have the flags of `pe train`.
OF_TRAINING = ("compare",)

problems, options_seen = [], 0
for name in sorted(os.listdir(pages)):
    command = name[:-len(".md")]
    page = open(os.path.join(pages, name), encoding="utf-8").read()
    if f"\npe {command}" not in page:
        continue  # a page that describes no command
    text = subprocess.run([pe, command, "--help"], capture_output=True, text=True).stdout
    listed = set(re.findall(r"^\s+(?:-h,)?(--?[a-z][a-z-]*)", text, re.M)) - {"--help"}
    synopsis = set(OPTION.findall("".join(re.findall(r"```text\n(.*?)```", page, re.S))))
    on_page = set(OPTION.findall(page))
    options_seen += len(listed)
    problems += [f"pe {command}: {option} is in --help, not in {name}"
                 for option in sorted(listed - on_page)]
    problems += [f"pe {command}: {option} has no description"
                 for option in BARE.findall(text)]
    if command not in OF_TRAINING:
        problems += [f"pe {command}: {option} is in {name}, not in --help"
                     for option in sorted(synopsis - listed)]
print(f"{options_seen} options")
print("\n".join(problems))
sys.exit(1 if problems or options_seen < 150 else 0)
