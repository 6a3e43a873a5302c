"""Kills `pe train` at random moments and resumes it: kill_training.py SCRATCH KILLS ENCODING FLAG

Every run that ends must have weights that are bitwise equal to those of the uninterrupted run, only
one checkpoint in its directory, and a log of complete lines. A checkpoint is written after every
step, so that kills hit its files, the renames and the removal of the previous one.
"""

import json
import pathlib
import random
import shutil
import subprocess
import sys
import time

STEPS = 40


def command(scratch, directory, encoding):
    arguments = ["pe", "train", f"--encoding={encoding}", f"--data={scratch}/data", "--layers=1",
                 "--dim=16", "--heads=2", "--kv-heads=2", "--seq=16", "--batch=2",
                 f"--steps={STEPS}", "--warmup=2", "--eval-lengths=16", "--threads=1",
                 f"--checkpoint={directory}", "--checkpoint-interval=1", f"--log={directory}.jsonl",
                 *sys.argv[4:]]
    return arguments + ["--resume=if-any"]


def check(directory, expected):
    files = sorted(str(path.relative_to(directory))
                   for path in directory.rglob("*") if path.is_file())
    whole = ["latest", f"step-{STEPS}/model.safetensors", f"step-{STEPS}/optimizer.safetensors"]
    assert files == whole, files
    assert (directory / whole[1]).read_bytes() == expected, "other weights"
    steps = []
    for line in pathlib.Path(f"{directory}.jsonl").read_text().splitlines():
        event = json.loads(line)
        if event["event"] == "step":
            steps.append(event["step"])
    assert steps == list(range(STEPS)), f"expected every step once in the log, found {steps}"


def main():
    scratch, kills, encoding = pathlib.Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    shutil.rmtree(scratch, ignore_errors=True)
    (scratch / "data").mkdir(parents=True)
    for i in range(12):
        (scratch / "data" / f"{i}.txt").write_text(f"text number {i} to learn from\n" * 40)

    directory = scratch / "whole"
    began = time.monotonic()
    subprocess.run(command(scratch, directory, encoding), check=True, capture_output=True)
    seconds = time.monotonic() - began
    expected = (directory / f"step-{STEPS}" / "model.safetensors").read_bytes()
    check(directory, expected)

    moments = random.Random(1)
    done, ended = 0, 0
    directory = scratch / "killed0"
    while True:
        process = subprocess.Popen(command(scratch, directory, encoding), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE)
        try:
            # There is no time limit after the last kill.
            limit = moments.uniform(0, 0.8 * seconds) if done < kills else None
            _, errors = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            done += 1
            continue
        assert process.returncode == 0, errors.decode()
        check(directory, expected)
        if done == kills:
            break
        ended += 1
        directory = scratch / f"killed{ended}"
    print(f"{kills} kills: the model, its log and the directory equal those of the "
          "uninterrupted run")


main()
