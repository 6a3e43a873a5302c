"""Stops `pe train` and `pe compare` like Ctrl-C and resumes: stop_training.py SCRATCH ENCODING

The stopped run saves a checkpoint, reports its path, and exits with 130. The resumed run has the
weights of an uninterrupted run. A second process in the same directory is rejected meanwhile.
"""

import json
import pathlib
import shutil
import signal
import subprocess
import sys
import time

SIZES = ["--layers=1", "--dim=16", "--heads=2", "--kv-heads=2", "--seq=16", "--batch=2",
         "--warmup=2", "--eval-lengths=16", "--threads=1"]


def wait_for(process, condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, "nothing happened within a minute"
        time.sleep(0.01)


def start(command):
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def weights(directory, steps):
    return (directory / f"step-{steps}" / "model.safetensors").read_bytes()


def stop_train(scratch, encoding):
    steps = 1500
    common = ["pe", "train", f"--encoding={encoding}", f"--data={scratch}/text.txt", *SIZES,
              f"--steps={steps}"]
    directory, log = scratch / "run", scratch / "run.jsonl"
    command = [*common, f"--checkpoint={directory}", f"--log={log}"]
    process = start(command)
    wait_for(process, lambda: log.exists() and log.read_text().count('"step"') > 20)
    process.send_signal(signal.SIGSTOP)
    second = subprocess.run([*common, f"--checkpoint={directory}"], capture_output=True, text=True)
    assert second.returncode == 1 and "another pe train writes into" in second.stderr, second
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGCONT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, (process.returncode, errors)
    step = int((directory / "latest").read_text().removeprefix("step-"))
    assert 0 < step < steps, step
    said = f"stopped at step {step}; {directory}/step-{step} is saved; continue with --resume"
    assert said in errors, errors

    subprocess.run([*command, "--resume"], check=True, capture_output=True)
    whole = scratch / "whole"
    subprocess.run([*common, f"--checkpoint={whole}"], check=True, capture_output=True)
    assert weights(directory, steps) == weights(whole, steps), "other weights after the stop"
    # A resumed finished run evaluates again, and the log has one evaluation and every step.
    subprocess.run([*command, "--resume"], check=True, capture_output=True)
    events = [json.loads(line) for line in log.read_text().splitlines()]
    assert [e["step"] for e in events if e["event"] == "step"] == list(range(steps))
    assert sum(e["event"] == "evaluation" for e in events) == 1, events[-1]


def stop_twice(scratch):
    """Checks that the second signal does not wait for the step, which takes more than a minute."""
    process = start(["pe", "train", f"--data={scratch}/text.txt", "--steps=2", "--seq=2048",
                     "--batch=512", "--eval-lengths=16", f"--log={scratch}/twice.jsonl"])
    wait_for(process, lambda: (scratch / "twice.jsonl").exists())
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert process.returncode == 130, process.returncode


def stop_compare(scratch):
    out = scratch / "compared"
    command = ["pe", "compare", "--encodings=none,alibi", f"--data={scratch}/text.txt", *SIZES,
               "--seeds=0,1,2", "--steps=1500", f"--out={out}"]
    for jobs in ["--jobs=1", "--jobs=2"]:
        shutil.rmtree(out, ignore_errors=True)
        process = start([*command, jobs])
        wait_for(process, lambda: any(out.glob("cells/*.json")))
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 143, (process.returncode, errors)
        finished = len(list(out.glob("cells/*.json")))
        said = f"stopped: {finished} of 6 runs are finished and saved in '{out}/cells'"
        assert said in errors, errors
        assert not (out / "report.html").exists()
    result = subprocess.run(command, check=True, capture_output=True, text=True)
    assert f"({finished} of 6 runs were there already)" in result.stdout, result.stdout


def main():
    # If tests run in the background, SIGINT is ignored, and `pe` would inherit this.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    scratch = pathlib.Path(sys.argv[1])
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    (scratch / "text.txt").write_text("".join(f"text number {i} to learn from\n"
                                              for i in range(2000)))
    stop_train(scratch, sys.argv[2])
    stop_twice(scratch)
    stop_compare(scratch)
    print("stops do not show, and say how to go on")


main()
