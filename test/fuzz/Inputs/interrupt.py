# Runs the executable argv[1] on a million seeds, sends it SIGINT one second after it has installed
# its handler, and prints its output and exit status.
import signal
import subprocess
import sys
import time


def catches_interrupts(pid):
    with open(f"/proc/{pid}/status") as file:
        caught = next(line.split()[1] for line in file if line.startswith("SigCgt:"))
    return int(caught, 16) >> (signal.SIGINT - 1) & 1


running = subprocess.Popen(
    [sys.argv[1], "--count=1000000", "--targets=reference"], stdout=subprocess.PIPE, text=True
)
while not catches_interrupts(running.pid):
    time.sleep(0.05)
time.sleep(1)
running.send_signal(signal.SIGINT)
output, _ = running.communicate(timeout=60)
print(output, "exit status ", running.returncode, sep="")
