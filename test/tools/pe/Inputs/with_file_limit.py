"""Runs a command whose files may not grow beyond BYTES: with_file_limit.py BYTES COMMAND...

The command starts with the default action for SIGXFSZ, which ends a process that does not expect
the signal. """

import os
import resource
import signal
import sys

limit = int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
os.execvp(sys.argv[2], sys.argv[2:])
