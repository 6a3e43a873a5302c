"""Tests scripts/gpu-model on loops of machine code whose cycles follow by hand. Needs no CUDA."""

import contextlib
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

from support import ROOT, load_script

import gpumodel.sass
from gpumodel import machine
from gpumodel.kernels import Case, by_last_line, counts_of, merged
from gpumodel.sass import ModelError, chip, parse
from gpumodel.walk import Graph, walk

LIMIT = 953  # lines of the model
A100 = chip("sm_80")
MATRIX, SPECIAL = A100.busy["matrix"], A100.busy["special"]


def sass(text, target="sm_80"):
    """Returns the text of nvdisasm for rows `OPCODE OPERANDS | stall=4 writes=0 reads=0 waits=1
    line=7`, with the fields encoded as ptxas does. Rows that end with a colon are labels."""
    lines = [f".target {target}", ".text.kernel:"]
    for number, row in enumerate(filter(None, map(str.strip, text.splitlines()))):
        if row.endswith(":"):
            lines.append(row)
            continue
        code, _, options = row.partition("|")
        fields = {"stall": 1, "writes": 7, "reads": 7, "waits": 0, "line": 0}
        fields |= {name: int(n) for name, n in re.findall(r"(\w+)=(\d+)", options)}
        bits = fields["stall"] | fields["writes"] << 5 | fields["reads"] << 8
        bits |= fields["waits"] << 11
        if fields["line"]:
            lines.append(f'\t//## File "kernel.ptx", line {fields["line"]}')
        lines.append(f"        /*{16 * number:04x}*/  {code.strip()} ;  /* 0x{0:016x} */")
        lines.append(f"                               /* 0x{bits << 41:016x} */")
    return "\n".join(lines) + "\n"


def loop(body, **options):
    """Returns a kernel that repeats `body`, which has a stall of 1 for the branch."""
    return parse(sass(f".L_x_0:\n{body}\n@P0 BRA `(.L_x_0)\nEXIT", **options))["kernel"]


def steps_of(trace):
    return trace.code[:trace.marks[-1]]


class NoChance:
    """Random numbers without any effect: all warps start at once, and banks do not collide."""

    def __init__(self, seed):
        del seed

    def random(self):
        return 0.99

    def randrange(self, end):
        del end
        return 0


class MachineTest(unittest.TestCase):
    def cycles(self, bodies, ctas=1, rows=None, on=A100):
        """Returns the cycles of a step of warps with these bodies of a loop."""
        kernels = [loop(body) for body in bodies]
        with mock.patch.object(machine.random, "Random", NoChance):
            return machine.execute(kernels[0], [*map(walk, kernels)], ctas, on, rows or {}).cycles

    def test_stall_counts(self):
        body = "HMMA.16816.F32 R0, R4, R6, R0 | stall=9\nMOV R1, R2 | stall=5"
        self.assertEqual(self.cycles([body]), 9 + 5 + 1)

    def test_scoreboard_of_a_result(self):
        body = ("HMMA.16816.F32 R0, R4, R6, R0 | stall=2\nLDS R8, [R9] | stall=1 writes=0\n"
                "MOV R1, R8 | stall=3 waits=1")
        self.assertEqual(self.cycles([body]), 2 + A100.latency["shared"] + 3 + 1)

    def test_scoreboard_of_matrix_instructions(self):
        body = ("HMMA.16816.F32 R0, R4, R6, R0 | stall=1 writes=2\n"
                "MOV R1, R0 | stall=1 waits=4")
        self.assertEqual(self.cycles([body]), A100.latency["matrix"] + 1 + 1)

    def test_a_pipe_serves_the_warps_of_a_scheduler_in_turn(self):
        body = "\n".join(["HMMA.16816.F32 R0, R4, R6, R0"] * 16)
        self.assertEqual(self.cycles([body] * 4), 16 * MATRIX)
        meet = machine.BARRIER_LATENCY + 1
        self.assertAlmostEqual(self.cycles([body + "\nBAR.SYNC 0x0"] * 8),
                               31 * MATRIX + 1 + meet, delta=1)

    def test_no_pipe_is_busier_than_it_can_be(self):
        body = "\n".join(["HMMA.16816.F32 R0, R4, R6, R0"] * 16 + ["MUFU.EX2 R1, R1"] * 4)
        kernel = loop(body)
        for ctas in (1, 2, 4, 8):  # some of many warps end much earlier than others
            share = machine.execute(kernel, [walk(kernel)] * 4, ctas, A100, {}).share
            self.assertLessEqual(share, 1.01)

    def test_special_functions(self):
        body = "HMMA.16816.F32 R0, R4, R6, R0\n" + "\n".join(["MUFU.EX2 R1, R1"] * 8)
        self.assertAlmostEqual(self.cycles([body] * 4), 8 * SPECIAL, delta=1)

    def test_two_pipes_overlap(self):
        matrix = "\n".join(["HMMA.16816.F32 R0, R4, R6, R0"] * 8)
        body = matrix + "\n" + "\n".join(["MUFU.EX2 R1, R1"] * 8)
        both = self.cycles([body] * 4, ctas=2)  # one warp has the one while the other has the other
        self.assertLess(both, 2 * 8 * (MATRIX + SPECIAL))
        self.assertGreaterEqual(both, 2 * 8 * MATRIX)

    def test_wavefronts_of_shared_memory(self):
        body = "HMMA.16816.F32 R0, R4, R6, R0\n" + "\n".join(["LDS.128 R8, [R9] | writes=0"] * 8)
        body += "\nMOV R1, R8 | waits=1"
        # The last result is there after 8 of 4 wavefronts.
        alone = 1 + 7 * 4 + A100.latency["shared"] + 3 + 2
        self.assertAlmostEqual(self.cycles([body]), alone, delta=1)
        self.assertAlmostEqual(self.cycles([body] * 4, ctas=4), 16 * 8 * 4, delta=4)

    def test_counted_conflicts(self):
        body = ("HMMA.16816.F32 R0, R4, R6, R0\nLDS R8, [R9] | writes=0 line=7\n"
                "MOV R1, R8 | waits=1 line=8")
        row = machine.Row(10, 80, 10, 0, "ld.shared", [10])
        self.assertAlmostEqual(self.cycles([body], rows={7: row}), self.cycles([body]) + 7)

    def test_a_wait_for_copies(self):
        body = ("HMMA.16816.F32 R0, R4, R6, R0\nLDGSTS.E.128 [R1], [R2]\nLDGDEPBAR\n"
                "DEPBAR.LE SB0, 0x0\nMOV R1, R8")
        self.assertGreater(self.cycles([body]), A100.latency["load"])
        ahead = body.replace("SB0, 0x0", "SB0, 0x1")  # the copy of this step may go on
        self.assertLess(self.cycles([ahead]), self.cycles([body]))

    def test_a_barrier_between_warps(self):
        short = "HMMA.16816.F32 R0, R4, R6, R0 | stall=2\nBAR.SYNC.DEFER_BLOCKING 0x0"
        long = "\n".join(["MOV R1, R2 | stall=10"] * 9) + "\n" + short
        expected = 90 + 2 + machine.BARRIER_LATENCY + 1
        self.assertEqual(self.cycles([long] * 2), expected)
        self.assertAlmostEqual(self.cycles([short, long]), expected, delta=1)

    def test_warps_wait_when_others_have_ended(self):
        short = "HMMA.16816.F32 R0, R4, R6, R0\nBAR.SYNC 0x0"
        self.assertGreater(self.cycles([short + "\nBAR.SYNC 0x0", short]), 0)

    def test_the_share_is_one_when_matrix_instructions_fill_their_pipe(self):
        kernel = loop("\n".join(["HMMA.16816.F32 R0, R4, R6, R0"] * 256 + ["BAR.SYNC 0x0"]))
        share = machine.execute(kernel, [walk(kernel)] * 4, 1, A100, {}).share
        self.assertAlmostEqual(share, 1.0, delta=0.02)
        self.assertAlmostEqual(A100.speed(1.0), 312, delta=1)  # of the data sheet


class WalkTest(unittest.TestCase):
    SOMETIMES = """
        HMMA.16816.F32 R0, R4, R6, R0 | line=1
        @P1 BRA `(.L_x_1) | line=2
        MUFU.EX2 R1, R1 | line=3
        .L_x_1:
        MOV R1, R2 | line=4"""

    def test_a_block_is_visited_as_often_as_counted(self):
        kernel = loop(self.SOMETIMES)
        counts = {1: 40, 2: 40, 3: 10, 4: 40}
        steps = steps_of(walk(kernel, counts))
        self.assertEqual(sum(i.name == "HMMA" for i in steps), 20)
        self.assertEqual(sum(i.name == "MUFU" for i in steps), 5)
        self.assertFalse(any(i.name == "MUFU" for i in steps_of(walk(kernel, counts | {3: 0}))))

    def test_lines_that_ptxas_has_moved_into_a_block_do_not_count(self):
        kernel = loop(self.SOMETIMES.replace("| line=3", "| line=3\nMOV R3, R4 | line=9"))
        steps = steps_of(walk(kernel, {1: 40, 2: 40, 3: 20, 4: 40, 9: 2}))
        self.assertEqual(sum(i.name == "MUFU" for i in steps), 10)

    def test_a_block_without_executions_is_unknown_if_it_is_predicated(self):
        counts = {1: 40, 2: 40, 4: 40}
        for text, expected in ((self.SOMETIMES, 0.0),
                               (self.SOMETIMES.replace("MUFU", "@P1 MUFU"), None)):
            graph = Graph(loop(text))
            found = [graph.counted(counts).get(b) for b, block in enumerate(graph.blocks)
                     if any(i.name == "MUFU" for i in block)]
            self.assertEqual(found, [expected])

    def test_warps_that_miss_each_other_at_barriers_are_reported(self):
        kernel = loop(self.SOMETIMES.replace("MUFU.EX2 R1, R1", "BAR.SYNC 0x0"))
        traces = [walk(kernel, {1: 40, 2: 40, 3: n, 4: 40}) for n in (10, 20)]
        for found, expected in ((traces[:1] * 2, "^$"), (traces, "^gpu-model: kernel: expected")):
            with contextlib.redirect_stderr(io.StringIO()) as printed:
                machine.execute(kernel, found, 1, A100, {})
            self.assertRegex(printed.getvalue(), expected)

    def test_a_poll_succeeds_at_once(self):
        kernel = loop("HMMA.16816.F32 R0, R4, R6, R0 | line=1\n.L_x_1:\nLDG.E.STRONG.GPU R2, [R4] "
                      "| line=2\n@P1 BRA `(.L_x_1) | line=2\nMOV R1, R2 | line=3")
        steps = steps_of(walk(kernel, {1: 10, 2: 500, 3: 10}, polls={2}))
        self.assertEqual(sum(i.name == "LDG" for i in steps), 20)

    def test_a_function_is_followed_and_left(self):
        text = """.L_x_0:
            HMMA.16816.F32 R0, R4, R6, R0 | line=1
            CALL.REL.NOINC `(.L_x_2) | line=2
            MOV R1, R2 | line=3
            @P0 BRA `(.L_x_0) | line=4
            EXIT
            .L_x_2:
            POPC R1, R2 | line=5
            RET.REL.NODEC R4 `(kernel) | line=5"""
        steps = walk(parse(sass(text))["kernel"], dict.fromkeys(range(1, 6), 30)).code
        self.assertEqual(" ".join(i.name for i in steps[:6]), "HMMA CALL POPC RET MOV BRA")

    def test_warps_of_a_role_share_the_mean_of_the_rest(self):
        rows = {1: machine.Row(20, 0, 0, 0, "mma.sync", [10, 10, 0]),
                2: machine.Row(9, 0, 0, 0, "add.s32", [2, 4, 3])}
        self.assertEqual(counts_of(rows, 3), [{1: 10, 2: 3}, {1: 10, 2: 3}, {1: 0, 2: 3}])

    def test_rows_of_an_instruction_on_several_lines(self):
        text = ["\tmma.sync", "\t\t{%r1},", "\t\t{%r2};", "\tadd.s32 %r1, %r1, 1; // sum"]
        mma, add = (machine.Row(1, 0, 0, 0, row, [1]) for row in ("mma.sync", text[3]))
        self.assertEqual(by_last_line({1: mma, 4: add}, text), {3: mma, 4: add})
        with self.assertRaisesRegex(ModelError, "expected the PTX that was counted"):
            by_last_line({1: mma, 3: add}, text)

    def test_fields_of_an_instruction(self):
        first = loop("LDG.E.128 R4, [R2.64] | stall=4 writes=1 reads=3 waits=33").code[0]
        self.assertEqual((first.opcode, first.stall, first.writes, first.reads, first.waits),
                         ("LDG.E.128", 4, 1, 3, [0, 5]))


class MakespanTest(unittest.TestCase):
    def expect(self, time, bound, heads, owners, inners, places, **options):
        """Compares the printed time and bound of a grid whose blocks divide 12 keys."""
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            load_script("gpu-model").makespan(heads, 12, 12 // owners, 12 // inners, places=places,
                                              **options)
        self.assertEqual(re.findall(r"\d+\.\d\d", printed.getvalue()),
                         [f"{time:.2f}", f"{bound:.2f}"])

    def test_one_place_never_waits(self):
        self.expect(1.0, 1.0, 2, 3, 3, 1)

    def test_causal_blocks_end_unequally(self):
        self.expect(2 / 1.5, 2 / 1.5, 1, 2, 2, 2, hand_over=0.5)

    def test_a_turn_seen_late(self):
        self.expect(3.5 / 1.5, 2 / 1.5, 1, 2, 2, 2, hand_over=2.5)

    def test_without_a_mask_the_second_waits_at_its_start(self):
        self.expect(2.5 / 2, 1.0, 1, 2, 2, 2, hand_over=0.5, mask="none")

    def test_a_place_too_few_doubles_the_time(self):
        self.expect(2 / 1.5, 2 / 1.5, 3, 1, 1, 2)

    def test_long_blocks_of_all_heads_come_first(self):
        self.expect(1.0, 1.0, 3, 2, 2, 3)
        self.expect(4 / 3, 1.0, 3, 2, 2, 3, together=1)

    def test_blocks_of_different_sizes(self):
        # The last two of four owners visit both blocks, the first two one.
        self.expect(2 / 1.5, 2 / 1.5, 1, 4, 2, 4)


class ErrorTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = pathlib.Path(directory.name)
        self.cubin = self.root / "a.cubin"
        self.cubin.write_text("machine code")

    def disassembler(self, text, status=0):
        """Installs a disassembler that prints `text`, as an error if the status is not zero."""
        (self.root / "text").write_text(text)
        program = self.root / "nvdisasm"
        stream = " >&2" if status else ""
        program.write_text(f"#!/bin/sh\n/bin/cat {self.root}/text{stream}\nexit {status}\n")
        program.chmod(0o755)

    def expect(self, message, *arguments, status=1):
        command = [sys.executable, "-B", ROOT / "scripts/gpu-model", *arguments]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True,
                              env=os.environ | {"PATH": str(self.root)})
        self.assertRegex(done.stderr, f"^gpu-model: error: {message}.*\n$")
        self.assertEqual(done.returncode, status)

    def test_no_disassembler(self):
        self.expect("expected nvdisasm in PATH, found none; install .*nvidia-cuda-nvdisasm", "file",
                    self.cubin, "--chip=sm_80", status=3)

    def test_no_assembler(self):
        ptx = self.root / "a.ptx"
        ptx.write_text(".version 7.0\n")
        self.expect("expected ptxas in PATH, found none; install .*nvidia-cuda-nvcc", "file", ptx,
                    "--chip=sm_80", status=3)

    def test_wrong_options(self):
        self.expect("--mask: expected causal or none, found all", "makespan", "--mask=all")
        self.expect("--dims: expected numbers between commas, found a,64", "kernels", "build",
                    "--dims=a,64")

    def test_mistakes_in_options(self):
        self.expect("--encodings: expected files of examples/encodings without .mlir, found fyre",
                    "kernels", "build", "--encodings=nope,fyre")
        self.expect("--why: expected forward or backward, found sideways", "kernels", "build",
                    "--why=sideways")
        self.expect("--heads: expected at least 1, found 0", "makespan", "--heads=0")
        self.expect("--warps: expected at least 1, found 0", "file", self.cubin, "--chip=sm_80",
                    "--warps=0")
        self.expect("--hand-over: expected at least 0, found -1.0", "makespan", "--hand-over=-1")
        self.expect("expected --flash-attention and --cutlass together, with --store", "calibrate",
                    "--flash-attention=/none")

    def test_a_build_without_pe(self):
        for name in ("ptxas", "nvdisasm"):
            (self.root / name).write_text("#!/bin/sh\n")
            (self.root / name).chmod(0o755)
        self.expect(f"cannot run {self.root}/bin/pe: No such file or directory", "kernels",
                    self.root, "--encodings=nope", "--chips=sm_80", "--dims=64")

    def test_no_file(self):
        self.expect("none.cubin: expected a cubin, found no file", "file", "none.cubin",
                    "--chip=sm_80")

    def test_a_cut_cubin(self):
        self.disassembler("nvdisasm fatal   : a.cubin is not a supported Elf file", status=1)
        self.expect("/.*a.cubin: nvdisasm reports: nvdisasm fatal .* not a supported Elf file",
                    "file", self.cubin, "--chip=sm_80")

    def test_no_code(self):
        self.disassembler(".target sm_80\n")
        self.expect("/.*a.cubin: expected a cubin with code, found no kernel", "file", self.cubin,
                    "--chip=sm_80")

    def test_another_chip(self):
        body = "HMMA.16816.F32 R0, R4, R6, R0"
        self.disassembler(sass(f".L_x_0:\n{body}\n@P0 BRA `(.L_x_0)", "sm_89"))
        self.expect("kernel: expected code for sm_80, found sm_89", "file", self.cubin,
                    "--chip=sm_80")

    def test_a_chip_without_rates(self):
        self.expect("expected a chip with known rates, sm_80, sm_90, sm_120, found sm_75", "file",
                    self.cubin, "--chip=sm_75")

    def test_no_loop_of_matrix_instructions(self):
        self.disassembler(sass(".L_x_0:\nMOV R0, R4\n@P0 BRA `(.L_x_0)\nEXIT"))
        self.expect("kernel: expected a loop with matrix instructions, found none", "file",
                    self.cubin, "--chip=sm_80")

    def test_unknown_instructions(self):
        body = "HMMA.16816.F32 R0, R4, R6, R0\nFROB.X R1, R2\nFROB.X R1, R2\nUNHEARD R1"
        self.disassembler(sass(f".L_x_0:\n{body}\n@P0 BRA `(.L_x_0)\nEXIT"))
        self.expect("kernel: expected known instructions, found on the path 42 FROB.X, 21 UNHEARD",
                    "file", self.cubin, "--chip=sm_80")

    def test_no_kernel_of_the_name(self):
        self.disassembler(sass("EXIT"))
        self.expect("/.*a.cubin: expected a kernel named other, found kernel", "file", self.cubin,
                    "--chip=sm_80", "--kernel=other")

    def test_few_unknown_instructions_are_accepted(self):
        body = "\n".join(["HMMA.16816.F32 R0, R4, R6, R0"] * 200 + ["FROB.X R1, R2"])
        self.assertGreater(len(walk(loop(body)).code), 4000)


class SizeTest(unittest.TestCase):
    def test_the_model_stays_small(self):
        files = [ROOT / "scripts/gpu-model", *(ROOT / "scripts/gpumodel").glob("*.py")]
        self.assertLessEqual(sum(len(file.read_text().splitlines()) for file in files), LIMIT)


class CommandTest(unittest.TestCase):
    module = load_script("gpu-model")
    STORED = {"speed": 100.0, "extra": 0, "elsewhere": 1.0}
    COLUMNS = {"spilled": 8, "extra wavefronts": 0, "elsewhere, %": 1.0}

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.data = pathlib.Path(directory.name)
        for file in gpumodel.sass.DATA.glob("*.json"):
            shutil.copy(file, self.data)
        replaced = mock.patch.object(gpumodel.sass, "DATA", self.data)
        replaced.start()
        self.addCleanup(replaced.stop)

    def lost(self, **found):
        (self.data / "predictions.json").write_text(json.dumps({"nope": self.STORED}))
        return self.module.faults({"nope": self.STORED | found})

    def run_with(self, speed_of, command, spilled_of=lambda _: 8, **options):
        """Runs a command for nope on sm_80 with these speeds and spills of schedules. Returns its
        output."""
        def predictions(case, why=""):
            del why
            columns = self.COLUMNS | {"spilled": spilled_of(case.schedule)}
            return {"forward": (1, speed_of(case.schedule), columns)}

        with (mock.patch.object(self.module, "predictions", predictions),
              contextlib.redirect_stdout(io.StringIO()) as printed):
            command(pathlib.Path("build"), encodings="nope", chips="sm_80", dims="64", **options)
        return printed.getvalue()

    def test_kernels_of_a_half_are_merged(self):
        products, speed, columns = merged([(7, 100.0, self.COLUMNS)])
        self.assertAlmostEqual(speed, 100.0)
        self.assertEqual((products, columns["spilled"]), (7, 8))
        products, speed, columns = merged([(4, 100.0, self.COLUMNS | {"spilled": 0}),
                                           (2, 200.0, self.COLUMNS | {"extra wavefronts": 3})])
        self.assertAlmostEqual(speed, 120.0)  # 6 products in the time of 4 / 100 + 2 / 200
        self.assertEqual((products, columns["spilled"], columns["extra wavefronts"]), (6, 8, 3))

    def test_stored_predictions_are_checked(self):
        text = self.run_with(lambda _: 203.2, self.module.kernels, store=True)
        self.assertIn("| nope | sm_80 | 64 | forward | 1.00 | 1.00 | 0.65 | 0.61 | 8 |", text)
        stored = json.loads((self.data / "predictions.json").read_text())["nope sm_80 64 forward"]
        self.assertEqual((stored["speed"], stored["extra"]), (203.2, 0))
        self.run_with(lambda _: 200.0, self.module.kernels, check=True)
        with self.assertRaisesRegex(ModelError, "^nope sm_80 64 forward: expected .*203.2"):
            self.run_with(lambda _: 180.0, self.module.kernels, check=True)

    def test_candidates_are_stored_with_the_best(self):
        def speed_of(schedule):
            if schedule == "warps=8":
                raise ModelError("pe reports: expected at most 4 warps")
            return 100.0 + len(schedule)

        text = self.run_with(speed_of, self.module.choose)
        self.assertIn("nope warps=8: pe reports: expected at most 4 warps\n", text)
        found = json.loads((self.data / "choices.json").read_text())["nope sm_80 64 forward"]
        self.assertEqual(found["candidates"]["default"], {"speed": 100.0, "spilled": 8})
        self.assertEqual(found["best"], max(found["candidates"], key=len))
        self.assertLessEqual(len(found["candidates"]), 10)
        self.assertNotIn("warps=8", found["candidates"])
        self.assertRegex(found["date"], r"^\d{4}-\d\d-\d\d$")

    def test_a_candidate_that_spills_is_not_the_best(self):
        longest = max(self.module.CANDIDATES, key=len)
        self.run_with(len, self.module.choose, spilled_of=lambda text: 600 * (text == longest))
        found = json.loads((self.data / "choices.json").read_text())["nope sm_80 64 forward"]
        self.assertEqual(found["candidates"][longest]["spilled"], 600)
        self.assertNotEqual(found["best"], longest)
        self.assertGreater(found["candidates"][found["best"]]["speed"], 20)

    def test_every_key_is_visited(self):
        file = self.data / "in.safetensors"
        case = Case(pathlib.Path("build"), "nope", "sm_80", 64)
        self.assertEqual(case.inputs(file)[0], "--random=1")
        self.assertEqual(case._replace(encoding="stick_breaking").inputs(file), [f"--in={file}"])
        self.assertGreater(file.stat().st_size, 4 * 4 * 1024 * 64)

    def test_a_kernel_that_loses_less_than_five_percent_is_accepted(self):
        self.assertEqual(self.lost(speed=95.1), [])
        self.assertEqual(self.lost(speed=120.0, elsewhere=1.4), [])

    def test_losses_and_conflicts_are_faults(self):
        for found in ({"speed": 94.9}, {"extra": 1}, {"elsewhere": 1.6}):
            with self.subTest(found=found):
                self.assertRegex(self.lost(**found)[0], "^nope: expected .* found ")

    def test_calibration_without_sources_prints_the_stored_table(self):
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            self.module.calibrate()
        self.assertIn("| FlashAttention-2 forward 64 sm_80 | 203 | 192 | 1.06 |",
                      printed.getvalue())


if __name__ == "__main__":
    unittest.main()
