"""Runs a command with a full device as standard output: with_full_output.py COMMAND..."""

import os
import sys

os.dup2(os.open("/dev/full", os.O_WRONLY), 1)
os.execvp(sys.argv[1], sys.argv[1:])
