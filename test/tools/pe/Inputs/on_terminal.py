"""Runs a command on a pseudo-terminal, and prints its output and status."""
import os
import pty
import sys

output = []


def read(descriptor):
    data = os.read(descriptor, 1024)
    output.append(data)
    return data


stdout = os.dup(1)
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # pty.spawn writes there what it reads
status = pty.spawn(sys.argv[1:], read)
os.dup2(stdout, 1)
text = b"".join(output).decode(errors="replace").replace("\r\n", "\n")
print(text)
print("status", os.waitstatus_to_exitcode(status))
