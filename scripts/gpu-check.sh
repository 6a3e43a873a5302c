#!/usr/bin/env bash
# Checks and measures pe on a machine with an NVIDIA GPU on which nothing can be installed.
#
#   scripts/gpu-check.sh prepare [BUILD] [OPTIONS]  build machine: packages and float64 results
#   scripts/gpu-check.sh check   [OPTIONS]          GPU machine: checks every kernel
#   scripts/gpu-check.sh time    [OPTIONS]          GPU machine: TFLOP/s, forward and backward
#   scripts/gpu-check.sh peers   [OPTIONS]          GPU machine: PyTorch implementations
#   scripts/gpu-check.sh table                      a Markdown table of all previous results
#
# OPTIONS: --only=fire,rope --lengths=2048,8192 --dims=64,128 --chips=sm_80,sm_90 --seconds=500
#          --repeats=15
#
# With PE_CUDA_DRIVER=ptx, check and time run on the PTX machine of this host instead of a GPU.
# Copy the directories build/gpu-check, at most 60 MiB, and scripts to the GPU machine. Results are
# appended to build/gpu-check/results.json. A call stops after --seconds and lists what it skipped.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
exec python3 "$here/gpu_check.py" "$@"
