# Errors on the command line: each must exit with status 1 and one line that describes the error,
# without an output file. argv: the directory of the examples, an empty working directory.
import os
import subprocess
import sys

examples, folder = sys.argv[1:]
os.makedirs(os.path.join(folder, "dir"), exist_ok=True)
os.chdir(folder)
open("empty", "w").close()
open("garbage", "wb").write(b"\x7fELF\x00\xff\x01")
with open("long", "w") as file:
    file.write("func.func @f() {\n  %0 = pe." + "a" * 1000000 + "\n  return\n}\n")
nope = os.path.join(examples, "nope.mlir")
small = ["--random=1", "--shape=b=1,h=1,sq=4,d=8"]
run = ["run", nope]

# (arguments, expected text of the line)
cases = [
    ([], "pe: error: expected a command, found none"),
    (["rum"], "pe: error: unknown command 'rum'; did you mean 'run'?"),
    (["--bogus"], "pe: error: unknown option --bogus; see pe --help"),
    (["r" * 100000], "unknown command"),
    (["Run"], "unknown command 'Run'; did you mean 'run'?"),
    (["help"], "unknown command 'help'; did you mean '--help'?"),
    (["--verson"], "pe: error: unknown option --verson; did you mean '--version'?"),
    (["-v"], "pe: error: unknown option -v; did you mean '--version'?"),
    (["--time", "3"], "expected a command before --time, which is an option of pe run"),
    (["--grad"], "expected a command before --grad, which is an option of pe run, pe compile"),
    (["run", "long"], "long:2:8: error: unknown operation 'pe." + "a" * 61 + "...'; docs"),
    (["doctor", "x"], "pe doctor: error: unexpected argument 'x'"),
    (["reinit"], "pe reinit: error: expected --in, found none"),
    (["reinit", "--in=none"], "pe reinit: error: expected --out, found none"),
    (["reinit", "--in=none", "--out=x"], "pe reinit: error: file 'none': cannot open: No such"),
    (["reinit", "--in=garbage", "--out=x"], "file 'garbage': expected at least 8 bytes"),
    (["reinit", "--in=dir", "--out=x"],
     "directory 'dir': expected model.safetensors.index.json or"),
    (["reinit", "--in=none", "--out=x", "--engin=x"], "unknown option --engin; did you mean"),
    (["reinit", "--in=none", "--out=x", "--iters=5"], "--iters: expected it with --engine=cubic"),
    (["reinit", "--in=none", "--out=x", "--engine=cubic"], "--iters: expected 1 to 1000"),
    (["reinit", "--in=none", "--out=x", "--scale=one"], "--scale: expected 'muon', 'none', 'mean-"),
    (["reinit", "--in=none", "--out=x", "--threads=-1"], "--threads: expected 1 to 1024"),
    (["reinit", "--in=none", "--out=x", "--device=cuda"], "Python package"),
]
plot = ["plot", nope, "--out=dir"]
cases += [
    (["plot"], "pe plot: error: expected FILE, found none"),
    (["plot", "x"], "pe plot: error: cannot open 'x': no such file, and no example of pe has"),
    (["plot", "empty"], "empty:1:1: error: expected a public function"),
    (["plot", "garbage"], "garbage:1:1: error: "),
    (plot + ["--kinds=bias"], "pe plot: error: unknown option --kinds; did you mean '--kind'?"),
    (plot + ["--kind=bias,heat"], "--kind: expected 'bias', 'distance'"),
    (plot + ["--length=0"], "--length: expected 1 to 256 for kind weights, found 0"),
    (plot + ["--length=x"], "--length: expected an integer, found 'x'"),
    (plot + ["--query=1,x"], "--query: expected an integer, found 'x'"),
    (plot + ["--heads=-1"], "--heads: expected heads of 0 to 7, found -1"),
    (plot + ["--shape=h=0"], "--shape: expected h to be a multiple of hkv"),
    (plot + ["--shape=h=2000"], "expected 1 to 1024 heads, found 2000"),
    (plot + ["--shape=d=7"], "expected a head dim from 8 to 256 that is a multiple of 8, found 7"),
    (plot + ["--in=none"], "file 'none': cannot open: No such file"),
    (plot + ["--in=garbage"], "garbage"),
    (plot + ["--layer=-1"], "--layer: expected 0 or more, found -1"),
    (plot + ["--threads=1025"], "--threads: expected 1 to 1024"),
    (plot + ["--out=empty"], "--out is given twice"),
    (["plot", nope, "--out=empty"], "--out: expected a directory, found the file 'empty'"),
]
for command in ["run", "explain", "compile"]:
    name = [command] + (["--emit=tile"] if command == "compile" else [])
    error = f"pe {command}: error: "
    cases += [
        (name, error + "expected FILE, found none"),
        (name + [""], error + "file '': cannot open"),
        (name + ["none.mlir"], error + "cannot open 'none.mlir': no such file, and no example of"),
        (name + ["dir"], error + "file 'dir': expected a file, found a directory"),
        (name + ["/dev/zero"], error + "file '/dev/zero': expected a file, found a device"),
        (name + ["empty"], "empty:1:1: error: expected a public function"),
        (name + ["garbage"], "garbage:1:1: error: "),
        (name + [nope, nope], error + "unexpected argument"),
        (name + [nope, "--dtipe=f32"], error + "unknown option --dtipe; did you mean '--dtype'?"),
        (name + [nope, "--target=gpu"], error + "expected --target cpu, cuda"),
        (name + [nope, "--target="], error + "--target: expected a value after '=', found none"),
        (name + [nope, "--target"], error + "--target: expected a value, found none"),
        (name + [nope, "--chip=sm_80"],
         error + "--chip: expected it with --target=cuda or gpu-emulator"),
        (name + [nope, "--dtype=f32", "--dtype=f32"], error + "--dtype is given twice"),
        (name + [nope, "--entry=other"], "error: expected a public function @other"),
    ]
cases += [
    (run + small + ["--threads=-1"], "--threads: expected 1 to 1024"),
    (run + small + ["--threads=abc"], "--threads: expected an integer, found 'abc'"),
    (run + small + ["--threads=99999999999999999999"], "--threads: expected an integer"),
    (run + ["--random=abc"], "--random: expected an integer of 0 or more, found 'abc'"),
    (run + ["--random=-1"], "--random: expected an integer of 0 or more, found '-1'"),
    (run + ["--random="], "--random: expected a value after '=', found none"),
    (run + ["--random=1", "--shape=b=-1"], "--shape: expected an integer >= 0 for b"),
    (run + ["--random=1", "--shape=b=99999999999999999999"], "--shape: expected an integer"),
    (run + ["--random=1", "--shape=b=1,b=2"], "--shape: b is given twice"),
    (run + ["--random=1", "--shape=x=1"], "--shape: expected NAME=NUMBER"),
    (run + ["--random=1", "--shape=b=1000000,h=1000000,sq=1000000"], "fewer than 2^63 elements"),
    (run + small + ["--q-start=1.5"], "--q-start: expected an integer, found '1.5'"),
    (run + small + ["--k-start=9223372036854775808"], "--k-start: expected an integer"),
    (run + small + ["--heads-total=0"], "heads_total"),
    (run + small + ["--capacity=-1"], "--capacity: expected a number of keys from 0 to 2^30,"),
    (run + small + ["--capacity=1073741825"], "--capacity: expected a number of keys from 0 to"),
    (run + small + ["--capacity=many"], "--capacity: expected an integer, found 'many'"),
    (run + small + ["--count="], "--count: expected a value after '=', found none; write"),
    (run + small + ["--time="], "--time: expected a value after '=', found none; write --time or"),
    (run + small + ["--time=0"], "--time: expected a number of calls of 1 to 2147483647"),
    (run + small + ["--explain=all"], "--explain: expected text or json, found 'all'"),
    (run + small + ["--early-exit=no"], "--early-exit: expected 'on' or 'off', found 'no'"),
    (run + small + ["--pairs-memory=1"], "--pairs-memory: expected it with --target=cuda or"),
    (run + small + ["--pairs-memory=all"], "--pairs-memory: expected an integer, found 'all'"),
    (run + small + ["--target=gpu-emulator", "--pairs-memory=-1"],
     "expected memory for pairs from 0 to 16777216 MiB, found -1"),
    (run + small + ["--check=2"], "--check: expected no value, found '2'"),
    (run + small + ["--out=none/o"], "--out: directory 'none' does not exist"),
    (run + small + ["--out=dir"], "--out: expected the name of a file, found the directory 'dir'"),
    (run + small + ["--in=empty"], "expected either --in=FILE.safetensors or --random=SEED"),
    (run, "expected either --in=FILE.safetensors or --random=SEED, found neither; --random=1"),
    (run + small + ["--time", "3"], "pe run: error: unexpected argument '3'; write --time=3"),
    (run + small + ["--explain", "json"], "unexpected argument 'json'; write --explain=json"),
    (run + small + ["-o", "x"], "pe run: error: unknown option -o; did you mean '--out'?"),
    (["reinit", "model"], "pe reinit: error: unexpected argument 'model'; write --in=model"),
    (["bench", "alibi"], "pe bench: error: unexpected argument 'alibi'; write --with=alibi"),
    (["demo", "alibi"], "pe demo: error: unexpected argument 'alibi'; write --with=alibi"),
    (run + ["--in=none"], "file 'none': cannot open"),
    (run + ["--in=dir"], "file 'dir': "),
    (run + ["--in=empty"], "file 'empty': "),
    (run + ["--in=garbage"], "file 'garbage': "),
    (["compile", nope], "pe compile: error: expected --emit, found none"),
    (["compile", nope, "--emit=tiles"], "--emit: expected 'pe', 'tile', 'step', 'llvm', 'object',"),
    (["compile", nope, "--emit=tile", "--head-dim=x"], "--head-dim: expected an integer"),
    (["compile", nope, "--emit=tile", "--head-dim=7"], "expected a head dim from 8 to 256"),
    (["compile", nope, "--emit=tile", "-o", "none/o"], "-o: directory 'none' does not exist"),
    (["compile", nope, "--emit=package", "--target=cpu,x", "-o", "x"], "expected --target cpu"),
    (["explain", nope, "--json=1"], "--json: expected no value, found '1'"),
    (["bench", "--with=none"], "found no 'none.mlir' there"),
    (["bench", "--with=alibix"], "found no 'alibix.mlir' there; did you mean 'alibi'?"),
    (["bench", "--with=alibi.mlir"], "found no 'alibi.mlir.mlir' there; did you mean 'alibi'?"),
    (["demo", "--with=zzz"], "pe demo: error: --with: expected encodings in"),
    (["demo", "--with=alibix"], "found no 'alibix.mlir' there; did you mean 'alibi'?"),
    (["compare"], "expected an experiment or --encodings=A,B,..., found none"),
    (["compare", "--encodings"], "--encodings: expected a value, found none; write --encodings="),
    (["compare", "--encodings="], "--encodings: expected a value after '=', found none"),
    (["compare", "--encoding=rope"], "unknown option --encoding; did you mean '--encodings'?"),
    (["compare", "--encodings=alibi,,fire"],
     "--encodings: expected names between commas, found 'alibi,,fire'"),
    (["compare", "flipflop"], "cannot open 'flipflop': no such file, and no experiment of pe has"
                              " this name; did you mean 'flip-flop'?"),
    (["compare", "examples/flipflop"], "did you mean 'flip-flop'?"),
    (["compare", "dir"],
     "expected an experiment, found the directory 'dir' without experiment.json"),
    (["compare", "alibi"], "found the encoding 'alibi'; write --encodings=alibi,OTHER"),
    (["compare", "alibi", "fire"], "unexpected argument 'fire'; write --encodings=alibi,fire"),
    (["bench", "--with=nope", "--lengths=0"], "--lengths: expected at least 1, found 0"),
    (["bench", "--with=nope", "--lengths=a"], "--lengths: expected an integer, found 'a'"),
    (["bench", "--with=nope", "--repeats=0"], "--repeats: expected at least 1, found 0"),
    (["bench", "--with=nope", "--json=none/o"], "--json: directory 'none' does not exist"),
    (["bench", "--target=cuda"], "unknown option --target"),
    (["demo", "--fast"], "pe demo: error: unknown option --fast"),
    (["demo", "--steps=0"], "--steps: expected at least 1, found 0"),
    (["demo", "--threads=-1"], "--threads: expected 1 to 1024"),
    (["demo", "--data=none"],
     "expected a text file or a directory with text files, found nothing at 'none'"),
    (["train", "--layers"], "--layers: expected a value, found none; write --layers=VALUE"),
    (["train", "--layers", "--dim=8"], "--layers: expected a value, found none; write --layers="),
    (["train", "layers=1"], "unexpected argument 'layers=1'; did you mean '--layers=1'?"),
    (["train", "-layers=1"], "unknown option -layers; did you mean '--layers'?"),
    (["train", "alibi"], "pe train: error: unexpected argument 'alibi'; write --encoding=alibi"),
    (["train", "--layer=1"], "unknown option --layer; did you mean '--layers'?"),
    (["train", "--layers=0"], "--layers: expected at least 1, found 0"),
    (["train", "--layers=x"], "--layers: expected an integer, found 'x'"),
    (["train", "--layers=1", "--layers=2"], "--layers is given twice"),
    (["train", "--steps=99999999999999999999"], "--steps: expected an integer"),
    (["train", "--lr=inf"], "--lr: expected a finite number, found 'inf'"),
    (["train", "--eval-lengths="], "--eval-lengths: expected a value after '=', found none"),
    (["train", "--eval-lengths=0"], "--eval-lengths: expected lengths of at least 1, found 0"),
    (["train", "--target=cuda"], "pe train runs on the CPU in float32; on GPUs and in other types"),
    (["train", "--dtype=bf16"], "Python package"),
    (["train", "--optimizer=sgd"],
     "--optimizer: expected an optimizer of 'adamw' or 'muon', found 'sgd'"),
    (["train", "--muon-lr=0.01"], "expected --optimizer=muon with --muon-lr, found adamw"),
    (["train", "--optimizer=muon", "--muon-orth=svd"],
     "--muon-orth: expected 'quintic', 'polar-express' or 'qdwh', found 'svd'"),
    (["train", "--schedule=step"],
     "--schedule: expected a schedule of 'linear', 'cosine', 'constant' or 'wsd', found 'step'"),
    (["train", "--final-lr=2"], "--final-lr: expected a number from 0 to 1, found '2'"),
    (["train", "--accumulate=0"], "--accumulate: expected at least 1, found 0"),
    (["train", "--plateau-window=4"], "expected --reinit-iters and --reinit-at=plateau with"),
    (["train", "--encoding=none.mlir"], "--encoding: cannot open 'none.mlir': no such file"),
    (["train", "--data=none"], "found nothing at 'none'"),
    (["train", "--config=dir"], "file 'dir': expected a file, found a directory"),
    (["train", "--phases=empty"],
     "--phases: empty:1:1: expected JSON, found unexpected end of input"),
    (["train", "--resume=1"], "--resume: expected no value or 'if-any', found '1'"),
    (["train", "--resume="], "--resume: expected a value after '=', found none"),
    (["train", "--overwrite=1"], "--overwrite: expected no value, found '1'"),
    (["train", "--resume"], "expected --checkpoint=DIR with --resume, found none"),
]

before = sorted(os.listdir("."))
failures = 0
for arguments, expected in cases:
    done = subprocess.run(["pe"] + arguments, capture_output=True, text=True, timeout=60)
    lines = done.stderr.splitlines()
    problems = []
    if done.returncode != 1:
        problems.append(f"exit status {done.returncode}")
    if len(lines) != 1:
        problems.append(f"{len(lines)} lines on stderr")
    if not lines or expected not in lines[0]:
        problems.append(f"expected '{expected}'")
    if done.stdout:
        problems.append("something on stdout")
    if problems:
        failures += 1
        print(f"pe {' '.join(arguments)[:200]}: {', '.join(problems)}; stderr: {done.stderr[:500]}")
if sorted(os.listdir(".")) != before:
    failures += 1
    print("unexpected files:", os.listdir("."))
print(f"{len(cases)} command lines, {failures} failed")
sys.exit(1 if failures else 0)
