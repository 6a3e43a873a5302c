"""Checks the fields of the results.json of a demo of alibi and fire: FILE."""

import json
import sys

results = json.load(open(sys.argv[1]))
assert sorted(results) == ["corpus", "encodings", "seconds"], results
assert list(results["encodings"]) == ["alibi", "fire"], results
for encoding in results["encodings"].values():
    fields = ["bits_per_char", "encoding_params", "model_params", "train_seconds"]
    assert sorted(encoding) == fields, encoding
    assert sorted(encoding["bits_per_char"]) == ["1024", "2048", "256", "512"], encoding
