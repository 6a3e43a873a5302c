# Checks the plots in a directory: every SVG is well-formed and complete, and a CSV has the plotted
# numbers. `golden NAME` compares the numbers with formulas computed here.
import csv
import math
import os
import re
import sys
import xml.etree.ElementTree as xml

folder, task = sys.argv[1:3]


def rows(name):
    with open(os.path.join(folder, name + ".csv"), newline="") as file:
        return [{key: float(value) if key not in ("run", "encoding", "half") else value
                 for key, value in row.items()} for row in csv.DictReader(file)]


def close(found, expected, scale=None, bound=1e-6):
    within = bound * (scale or max(abs(expected), 1e-3))
    assert found == expected or abs(found - expected) <= within, (found, expected)


def pictures():
    names = sorted(os.path.splitext(n)[0] for n in os.listdir(folder) if n.endswith(".svg"))
    assert names, "no pictures"
    assert names == sorted(os.path.splitext(n)[0] for n in os.listdir(folder) if n.endswith(".csv"))
    for name in names:
        root = xml.parse(os.path.join(folder, name + ".svg")).getroot()
        space = "{http://www.w3.org/2000/svg}"
        assert root.tag == space + "svg", root.tag
        assert root.get("width") == "700", (name, root.get("width"))
        assert "prefers-color-scheme" in root.find(space + "style").text
        width, height = float(root.get("width")), float(root.get("height"))
        texts = root.findall(".//" + space + "text")
        stem = re.split("-(query|grid|rows)-|-[a-z]+$", name)[0]
        assert texts[0].text.startswith(stem), texts[0].text
        assert len(texts) >= 6, "axes without ticks"
        for text in texts:
            x, y = float(text.get("x")), float(text.get("y"))
            assert 0 <= x <= width and 0 <= y <= height, (name, text.text)
        raw = open(os.path.join(folder, name + ".svg"), encoding="utf-8").read()
        for word in ("nan", "inf,", "NaN", "var("):
            assert word not in raw, (name, word)
        table = rows(name)
        assert table, name
        # Compiled and reference values.
        for key, other in (("bias", "reference"), ("value", "reference"), ("weight", "reference"),
                           ("embedding", "reference"), ("cosine", "reference_cosine"),
                           ("sine", "reference_sine")):
            if table and key in table[0]:
                scale = max(abs(row[other]) for row in table if math.isfinite(row[other]))
                for row in table:
                    close(row[key], row[other], scale or 1, 2e-5)
    print(len(names), "pictures:", *names)


def slope(head, heads):
    return 2.0 ** (-8.0 * (head + 1) / heads)


def golden(name):
    if name == "alibi":
        table = rows("alibi-bias")
        assert len(table) == 4 * 20 * 21 / 2  # 4 heads, causal pairs of 20
        for row in table:
            close(row["bias"], -slope(row["head"], 4) * (row["query"] - row["key"]))
        table = rows("alibi-distance")
        assert {row["query"] for row in table} == {50.0}
        assert [row["distance"] for row in table if row["head"] == 3] == list(range(51))
        for row in table:
            close(row["bias"], -slope(row["head"], 4) * row["distance"])
        for query in (5, 50):
            table = rows(f"alibi-query-{query}")
            assert {row["key"] for row in table} == set(range(query + 1))
    if name == "rope":
        for row in rows("rope-rotation"):
            angle = row["position"] * 10000.0 ** (-2 * row["pair"] / 16)
            close(row["cosine"], math.cos(angle), 1)
            close(row["sine"], math.sin(angle), 1)
    if name == "rope_2d":  # pairs 0 to 3 turn by the row of a 3 x 3 grid, the others by the column
        for row in rows("rope_2d-rotation"):
            place = (row["position"] // 3, row["position"] % 3)[int(row["pair"] >= 4)]
            close(row["cosine"], math.cos(place * 10000.0 ** (-4 * (row["pair"] % 4) / 16)), 1)
            close(row["sine"], math.sin(place * 10000.0 ** (-4 * (row["pair"] % 4) / 16)), 1)
    if name == "mrope":  # 3, 3 and 2 of 8 pairs: time, height and width of a 3 x 3 x 3 grid
        for row in rows("mrope-rotation"):
            token, axis = row["position"], int(row["pair"] // 3)
            place = (token // 9, token // 3 % 3, token % 3)[axis]
            angle = place * 10000.0 ** (-2 * row["pair"] / 16)
            close(row["cosine"], math.cos(angle), 1)
            close(row["sine"], math.sin(angle), 1)
    if name in ("rope", "alibi"):
        sums = {}
        for row in rows(name + "-weights"):
            assert row["key"] <= row["query"]
            at = (row["head"], row["query"])
            sums[at] = sums.get(at, 0) + row["weight"]
        for total in sums.values():
            close(total, 1)
    if name == "fire":
        # f at both ends: with the initial c and L, t is 0 at the query and 1 at the first key.
        table = rows("fire-function")
        for head in (0, 1):
            mine = [row for row in table if row["head"] == head]
            assert mine[0]["coordinate"] == 0 and 0.999 < mine[-1]["coordinate"] <= 1
            assert all(a["coordinate"] <= b["coordinate"] for a, b in zip(mine, mine[1:]))
            far = [row for row in rows("fire-distance") if row["head"] == head]
            close(far[0]["bias"], mine[0]["value"], 1)
            close(far[-1]["bias"], mine[-1]["value"], 1)
    if name == "softcap":
        table = rows("softcap-score")
        assert len({row["score"] for row in table}) == 401
        for row in table:
            close(row["f"], 30 * math.tanh(row["score"] / 30), 30)
    if name == "flat":
        # With equal scores, every key takes half of the stick; a sink of logit 0 acts as a key.
        for row in rows("stick_breaking-flat"):
            assert row["query"] == 31 and row["key"] < 31
            close(row["weight"], 0.5 ** (31 - row["key"]), 1)
        for row in rows("attention_sink-flat"):
            close(row["weight"], 1 / 33)
            close(row["uniform"], 1 / 32)
        for row in rows("log_sum_exp-rows-lse"):
            close(row["value"], math.log(row["query"] + 1), 1)
    if name == "dropout":
        left = [row["weight"] == 0 for row in rows("dropout-difference")]
        assert 0.03 < sum(left) / len(left) < 0.2
        for row in rows("dropout-difference"):
            if row["weight"]:
                close(row["weight"], row["without"] / 0.9, 1)
    if name == "data":
        # Sums of logarithms of gates decrease, documents are contiguous, and padding is at the end.
        for head in range(4):
            part = [row["of_key"] for row in rows("forgetting-parts") if row["head"] == head]
            assert part[0] == 0 and all(a < b for a, b in zip(part, part[1:]))
            assert 0.3 < part[-1] / len(part) < 1.5
        for row in rows("forgetting-parts"):
            close(row["of_query"], -row["of_key"], 50, 1e-5)
        seen = {(int(row["query"]), int(row["key"])): row["seen"]
                for row in rows("document_mask-mask")}
        starts = [min(j for j in range(i + 1) if seen[i, j]) for i in range(64)]
        assert starts == sorted(starts) and 2 <= len(set(starts)) <= 12
        assert all(seen[i, j] == (starts[i] <= j <= i) for i, j in seen)
        seen = {(int(row["query"]), int(row["key"])): row["seen"]
                for row in rows("key_padding-mask")}
        assert all(seen[i, j] == (j <= i and j < 48) for i, j in seen)
    if name == "grid":
        for row in rows("alibi-2d-grid-105"):
            distance = abs(row["row"] - 7) + abs(row["column"] - 7)
            close(row["bias"], -slope(row["head"], 4) * distance, 14)
        assert len(rows("alibi-2d-grid-105")) == 4 * 14 * 14
    if name == "mean":
        for row in rows("general-distance"):
            distance = int(row["distance"])
            pairs = [math.cos(0.1 * i * (i - distance)) for i in range(distance, 24)]
            close(row["mean"], sum(pairs) / len(pairs), 1, 1e-4)
            close(row["least"], min(pairs), 1, 1e-4)
            close(row["largest"], max(pairs), 1, 1e-4)
    if name == "sinusoidal":
        table = rows("sinusoidal-embedding")
        assert len(table) == 40 * 16
        assert {row["dimension"] for row in rows("sinusoidal-dimensions")} == {0, 3, 15}
        for row in table + rows("sinusoidal-dimensions"):
            pair, kind = divmod(int(row["dimension"]), 2)
            angle = row["position"] / 10000.0 ** (2 * pair / 16)
            close(row["embedding"], math.cos(angle) if kind else math.sin(angle), 1)
    if name == "run":
        loss = rows("log-training")
        assert [row["step"] for row in loss] == [0, 1, 2]
        assert loss[1]["bits_per_char"] == 4.25
        close(loss[1]["running_mean"], (0.9 * 0.1 * 6.5 + 0.1 * 4.25) / 0.19)
        assert [(row["run"], row["length"], row["bits_per_char"]) for row in rows("log-lengths")] \
            == [("log", 256, 2.5), ("log", 512, 2.75)]
    if name == "bench":
        # Measured values: only check that they exist.
        assert len(rows("bench-roofline")) == 4
        for row in rows("bench-roofline"):
            assert all(value > 0 for key, value in row.items() if key not in ("encoding", "half"))
    if name == "table":
        (row,) = rows("table-roofline")
        assert list(row.values()) == ["t5", 512, "forward", 100, 2, 4, 10], row


pictures() if task == "pictures" else golden(sys.argv[3])
