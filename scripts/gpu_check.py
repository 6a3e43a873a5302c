"""Implements scripts/gpu-check.sh with the standard library only; `peers` also needs PyTorch."""

import argparse
import itertools
import json
import math
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
ENCODINGS = ["nope", "alibi", "t5", "kerple_log", "fire", "fire_2x32", "rope",
             "stick_breaking", "rse"]
CHIPS = "sm_80,sm_90"
# Choices of step programs (dialect/Step/README.md) that `time` compares with the usual, in bf16.
CHOICES = {"ahead": "forward.ahead=1", "apart": "forward.ahead=1,forward.late_slots=1",
           "both": "ahead=1"}
ENCODINGS_WITH_CHOICES = ["nope", "alibi", "stick_breaking"]
# With this driver, kernels are executed on the host (docs/ptx.md).
IS_ON_HOST = os.environ.get("PE_CUDA_DRIVER") == "ptx"
# Small cases for correctness: name, sizes, head dim and value dim.
CASES = [
    ("odd", "b=1,h=4,hkv=2,sq=93,sk=130", 64, 64),
    ("single", "b=2,h=2,hkv=1,sq=1,sk=77", 64, 64),
    ("deep", "b=1,h=2,hkv=2,sq=130,sk=130", 128, 128),
]
DTYPES = ["bf16", "f16", "tf32", "f32"]
# The largest error |x - r| / |r| against float64 results on the rounded inputs. The tolerances of
# `pe run --check` are not available, because the reference results are stored.
LIMITS = {"bf16": 1.2e-2, "f16": 2e-3, "tf32": 2e-3, "f32": 5e-5}
# Gradients that cancel to nearly zero may differ by this fraction of the largest gradient.
CANCELLING = 5e-2


def run(command, **options):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True,
                          **options)


def read_safetensors(path):
    data = path.read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + length])
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        raw = data[8 + length + begin:8 + length + end]
        tensors[name] = struct.unpack(f"<{len(raw) // 4}f", raw)
    return tensors


class CheckDirectory:
    """The directory build/gpu-check with programs, packages, reference results and records."""

    def __init__(self, path):
        self.path = path
        self.pe = self.path / "bin" / "pe"
        self.results = self.path / "results.json"

    def package(self, encoding, dtype, dim, choice=""):
        return self.path / f"{encoding}-{dtype}-{dim}{choice and '-' + choice}.pepkg"

    def reference(self, encoding, case, dtype):
        return self.path / f"{encoding}-{case}-{dtype}.safetensors"

    def load(self):
        return json.loads(self.results.read_text()) if self.results.exists() else []

    def append(self, record):
        record["when"] = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime())
        self.results.write_text(json.dumps(self.load() + [record], indent=1))


def choices_of(encoding):
    """Returns the names of the choices to time; "" is the usual one."""
    return ["", *CHOICES] if encoding in ENCODINGS_WITH_CHOICES else [""]


def prepare(directory, build, options):
    """Compiles packages for the chips and computes float64 results of small cases."""
    shutil.rmtree(directory.path, ignore_errors=True)
    (directory.path / "bin").mkdir(parents=True)
    (directory.path / "lib").mkdir()
    shutil.copy2(build / "bin" / "pe", directory.pe)
    for library in ("libpe.so.0", "libpe-ptx.so", "libpe-ptx-cuda.so"):
        shutil.copy2(build / "lib" / library, directory.path / "lib" / library)
    targets = ["--target=cuda", "--chip=" + options.chips]
    for encoding in options.only:
        source = ROOT / "examples" / "encodings" / f"{encoding}.mlir"
        for dtype in DTYPES:
            for dim in options.dims:
                if dtype != "bf16" and dim > 64:
                    continue
                made = run([build / "bin" / "pe", "compile", source, *targets, f"--dtype={dtype}",
                            f"--head-dim={dim}", f"--value-dim={dim}", "--grad", "--early-exit=off",
                            "--emit=package", "-o", directory.package(encoding, dtype, dim)])
                if made.returncode:
                    sys.exit(made.stderr)
        for choice, dim in itertools.product(choices_of(encoding), options.dims):
            if choice:
                made = run([build / "bin" / "pe", "compile", source, *targets, "--dtype=bf16",
                            f"--head-dim={dim}", f"--value-dim={dim}", "--grad",
                            "--early-exit=off", f"--schedule={CHOICES[choice]}",
                            "--emit=package", "-o",
                            directory.package(encoding, "bf16", dim, choice)])
                if made.returncode and "(step-C" not in made.stderr:
                    sys.exit(made.stderr)
                if made.returncode:
                    print(f"{encoding} D={dim} {choice}: {made.stderr.strip()}")
        for (name, shape, dim, value), dtype in itertools.product(CASES, DTYPES):
            if not directory.package(encoding, dtype, dim).exists():
                continue
            done = run([build / "bin" / "pe", "run", source, "--target=reference", "--random=5",
                        f"--shape={shape},d={dim},dv={value}", "--grad", f"--dtype={dtype}",
                        f"--out={directory.reference(encoding, name, dtype)}"])
            if done.returncode:
                sys.exit(done.stderr)
    size = sum(file.stat().st_size for file in directory.path.rglob("*") if file.is_file())
    print(f"{directory.path}: {size / 2**20:.1f} MiB")
    if size > 60 * 2**20:
        sys.exit("gpu-check: error: expected at most 60 MiB; choose fewer with --only or --dims")


def compare(found, expected, limit):
    """Returns the largest error as a fraction of the limit, and the tensors that exceed it."""
    worst, bad = 0.0, []
    largest = max(math.sqrt(sum(x * x for x in values) / max(len(values), 1))
                  for name, values in expected.items() if name.startswith("d_"))
    for name, reference in expected.items():
        values = found.get(name)
        if values is None or len(values) != len(reference):
            bad.append(f"{name}: missing")
            continue
        if not all(math.isfinite(x) for x in values):
            bad.append(f"{name}: not finite")
            continue
        norm = math.sqrt(sum(r * r for r in reference))
        error = math.sqrt(sum((x - r) ** 2 for x, r in zip(values, reference)))
        # The gradient of a parameter may cancel to zero.
        is_parameter = name.startswith("d_") and name not in ("d_q", "d_k", "d_v")
        spare = CANCELLING * largest * math.sqrt(len(reference)) if is_parameter else 0
        allowed = limit * norm + spare
        share = error / allowed if allowed else (math.inf if error > 0 else 0.0)
        worst = max(worst, share)
        if share > 1:
            bad.append(f"{name}: error {error:.3g} of {norm:.3g}, allowed {allowed:.3g}")
    return worst, bad


class Clock:
    """Skips work after a time limit and reports what was skipped."""

    def __init__(self, seconds):
        self.end = time.monotonic() + seconds
        self.left = []

    def allows(self, what):
        if time.monotonic() < self.end:
            return True
        self.left.append(what)
        return False

    def report(self):
        if self.left:
            print("skipped after the time limit: " + ", ".join(self.left))


def check(directory, options):
    clock, failures, count = Clock(options.seconds), 0, 0
    for encoding in options.only:
        kinds = [*itertools.product(DTYPES, [""]),
                 *itertools.product(["bf16"], choices_of(encoding)[1:])]
        for dtype, choice in kinds:
            for name, shape, dim, value in CASES:
                package = directory.package(encoding, dtype, dim, choice)
                label = f"{encoding} {dtype} {name}" + (choice and " " + choice)
                if dim not in options.dims or not package.exists() or not clock.allows(label):
                    continue
                out = directory.path / "out.safetensors"
                out.unlink(missing_ok=True)
                # Run twice: results must be bitwise equal.
                outputs = []
                for _ in range(2):
                    done = run([directory.pe, "run", package, "--target=cuda",
                                "--random=5", f"--shape={shape},d={dim},dv={value}",
                                f"--dtype={dtype}", "--grad", f"--out={out}"])
                    outputs.append(out.read_bytes() if done.returncode == 0 else b"")
                if done.returncode:
                    worst, bad = math.inf, [done.stderr.strip()]
                else:
                    stored = read_safetensors(directory.reference(encoding, name, dtype))
                    worst, bad = compare(read_safetensors(out), stored, LIMITS[dtype])
                    if outputs[0] != outputs[1]:
                        bad.append("two runs differ")
                count += 1
                failures += bool(bad)
                directory.append({"part": "check", "encoding": encoding, "dtype": dtype,
                                  "choice": choice, "case": name, "share_of_limit": worst,
                                  "problems": bad})
                verdict = "FAILED " + "; ".join(bad) if bad else f"ok ({worst:.2f} of the limit)"
                print(f"{label:32} {verdict}", flush=True)
    sanitize(directory, options)
    clock.report()
    print(f"{count} checked, {failures} failed")
    return 1 if failures or not count else 0


def sanitize(directory, options):
    """Runs compute-sanitizer, if installed, on one small case of the first encodings."""
    if IS_ON_HOST or not shutil.which("compute-sanitizer"):
        print("compute-sanitizer: skipped (not installed, or the kernels run on the host)")
        return
    for encoding in options.only[:3]:
        for tool in ("memcheck", "racecheck"):
            done = run(["compute-sanitizer", f"--tool={tool}", "--error-exitcode=9", directory.pe,
                        "run", directory.package(encoding, "bf16", 64), "--target=cuda",
                        "--random=5", "--shape=b=1,h=2,hkv=1,sq=93,sk=130,d=64", "--dtype=bf16",
                        "--grad"])
            directory.append({"part": "sanitize", "encoding": encoding, "tool": tool,
                              "rc": done.returncode})
            verdict = "ok" if done.returncode == 0 else "FAILED"
            print(f"compute-sanitizer {tool} {encoding}: {verdict}", flush=True)


def heads_for(length, dim):
    """Returns batch and heads for 16 k tokens of width 2048, like FlashAttention's benchmark."""
    return max(1, 16384 // length), 2048 // dim


def measure(directory, options):
    clock = Clock(options.seconds)
    for length, dim, encoding in itertools.product(options.lengths, options.dims, options.only):
        for choice in choices_of(encoding):
            what = f"{encoding} D={dim} S={length}" + (choice and " " + choice)
            package = directory.package(encoding, "bf16", dim, choice)
            if not package.exists() or not clock.allows(what):
                continue
            batch, heads = (1, 2) if IS_ON_HOST else heads_for(length, dim)
            done = run([directory.pe, "run", package, "--target=cuda",
                        "--random=7", f"--shape=b={batch},h={heads},sq={length},d={dim}",
                        "--dtype=bf16", "--grad", f"--time={options.repeats}"])
            record = {"part": "time", "encoding": encoding, "dim": dim, "length": length,
                      "batch": batch, "heads": heads, "dtype": "bf16", "choice": choice}
            if done.returncode:
                record["error"] = done.stderr.strip()
            else:
                record.update(json.loads(done.stdout.strip().splitlines()[-1]))
            directory.append(record)
            print(what, record.get("error") or " ".join(
                f"{half} {(record[half + '_gflops'] or 0) / 1e3:.2f} TFLOP/s"
                for half in ("forward", "backward")), flush=True)
    clock.report()
    return 0


def table(directory):
    """Prints the results of pe, followed by those of the peers, in one row per size."""
    rows = {}
    for record in directory.load():
        if record["part"] not in ("time", "peers"):
            continue
        key = (record["encoding"], record["dim"], record["length"])
        who = record.get("peer", "pe" + (record.get("choice") and ", " + record["choice"] or ""))
        cell = record.get("error", "")[:40] or "{:.0f} / {:.0f}".format(
            (record.get("forward_gflops") or 0) / 1e3, (record.get("backward_gflops") or 0) / 1e3)
        rows.setdefault(key, {})[who] = cell
    names = ["pe"] + sorted({who for row in rows.values() for who in row} - {"pe"})
    print("| encoding | D | S | " + " | ".join(names) + " |")
    print("|---" * (3 + len(names)) + "|")
    for key in sorted(rows):
        cells = [str(part) for part in key] + [rows[key].get(name, "") for name in names]
        print("| " + " | ".join(cells) + " |")
    return 0


def main():
    parser = argparse.ArgumentParser(prog="gpu-check.sh")
    parser.add_argument("part", choices=["prepare", "check", "time", "peers", "table"])
    parser.add_argument("build", nargs="?", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--folder", type=pathlib.Path, metavar="DIRECTORY",
                        help="the directory to use instead of BUILD/gpu-check")
    parser.add_argument("--only", default=",".join(ENCODINGS))
    parser.add_argument("--lengths", default="2048,8192,16384")
    parser.add_argument("--dims", default="64,128")
    parser.add_argument("--chips", default=CHIPS)
    parser.add_argument("--seconds", type=float, default=500)
    parser.add_argument("--repeats", type=int, default=15)
    options = parser.parse_args()
    options.only = options.only.split(",")
    options.lengths = [int(n) for n in options.lengths.split(",")]
    options.dims = [int(n) for n in options.dims.split(",")]
    directory = CheckDirectory(options.folder or options.build / "gpu-check")
    if options.part == "prepare":
        return prepare(directory, options.build, options)
    if options.part == "table":
        return table(directory)
    if not directory.pe.exists():
        sys.exit(f"gpu-check: error: expected {directory.path} made by `gpu-check.sh prepare`")
    if options.part == "check":
        return check(directory, options)
    if options.part == "time":
        return measure(directory, options)
    import gpu_peers
    return gpu_peers.measure(directory, options, Clock(options.seconds), heads_for)


if __name__ == "__main__":
    sys.exit(main())
