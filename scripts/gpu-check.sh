#!/usr/bin/env bash
# Checks and measures pe on a machine with an NVIDIA GPU where nothing can be installed.
#
#   scripts/gpu-check.sh prepare [BUILD] [OPTIONS]  here: packages and float64 results
#   scripts/gpu-check.sh check   [OPTIONS]          there: every kernel against them
#   scripts/gpu-check.sh time    [OPTIONS]          there: useful TFLOP/s, both ways
#   scripts/gpu-check.sh peers   [OPTIONS]          there, with PyTorch: what else there is
#   scripts/gpu-check.sh table                      a Markdown table of all results so far
#
# OPTIONS: --only=fire,rope --lengths=2048,8192 --dims=64,128 --target=cuda|gpu-emulator
#          --seconds=500 --repeats=15
#
# Everything lies in build/gpu-check, under 60 MiB: carry that folder and scripts/. Results are
# appended to build/gpu-check/results.json; a call ends after --seconds and says what is left.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
exec python3 "$here/gpu_check.py" "$@"
