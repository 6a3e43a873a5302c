"""Runs a command whose standard output is a full device: with_full_output.py COMMAND..."""

import os
import sys

os.dup2(os.open("/dev/full", os.O_WRONLY), 1)
os.execvp(sys.argv[1], sys.argv[1:])
