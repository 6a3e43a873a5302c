"""The idioms that check-text refuses in prose, each with the form to write instead.

These are a minimum; CONTRIBUTING.md ("How we write") describes the goal. Patterns are matched
against the blocks of checklib/prose.py, ignoring case; code in backticks does not count.
"""

import re

from . import prose

_SENTENCE = r"(?:\A|(?<=[.:!?]\s))\W*"

# A doc comment that begins with a free relative.
DOC_START = re.compile(
    r"\A\W*(what|whether|where|how|who|whose|whoever|whatever|which|when)\b", re.IGNORECASE)
DOC_START_MESSAGE = "a doc comment that begins with a question word; begin with what it does or is"

# (what is refused and what to write, pattern)
IDIOMS = [
    ("a free relative as a sentence; put subject and verb first",
     _SENTENCE + r"(What|Whatever|Whoever|Who|Whose)\b(?!\()[^.?!]*(?:[.!]|\Z)"),
    ("'is none'; write 'is not a ...' or 'there is no ...'",
     r"(?<!there )\b(is|are|was|were) (?-i:none)\b"),
    ("'is no X'; write 'is not an X'",
     r"(?<!there )\b(is|are|was|were) no (?!longer|more|less|better|worse|need|reason|such|one\b|"
     r"other|different|faster|slower|larger|smaller)\w+"),
    ("'of its own'; write 'its own ...', 'separate' or nothing",
     r"\bof (its|their|his|one's|your|our) own\b"),
    ("'own' without a possessive; write 'its own ...'",
     r"\b(with|an?|have|has|takes?|needs?) own\b"),
    ("'stands for'; write 'represents', 'means' or 'is'", r"\b(stands?|standing|stood) for\b"),
    ("'in place of'; write 'instead of' or 'replaces'", r"\bin place of\b"),
    ("'but for'; write 'except'", r"\bbut for\b"),
    ("'as it lies'; write 'in place', 'unchanged' or 'in its layout'",
     r"\b(as|where|how) (it|they|those|these) (lies?|stands?)\b"),
    ("'behind'; write 'after'", r"\bbehind\b"),
    ("'beside'; write 'next to', 'and' or 'in addition to'", r"\bbeside\b"),
    ("a bookish word", r"\b(whosoever|whoever|whence|whereof|thereof|therein|lest|anew|afresh)\b"),
    ("'nobody', 'somebody'; name the caller, the user or the code", r"\b(nobody|somebody)\b"),
    ("'is said', 'is told'; write 'is reported', 'is stated' or 'knows'",
     r"\b(is|are|be|was|were) (said|told)\b"),
    ("'once more'; write 'again'", r"\bonce more\b"),
    ("'the like'; write 'similar', 'and so on' or the list", r"\bthe likes?\b(?! of)"),
]

# Terms of the field, and paraphrases of them.
TERMS = [
    ("directory", r"(?<![-\w])folders?\b"),
    ("bitwise, bit for bit, byte for byte", r"\bto the (bit|byte)s?\b"),
    ("random, dropped", r"\b((draws?|numbers?) of chance|chance alone|by chance)\b"),
    ("accuracy", r"\bexactness\b"),
    ("default", r"\bwhat is taken without\b"),
    ("fallback", r"\bfall[- ]backs\b|\bthe fall-back\b"),
    ("subtract", r"\btak(e|es|en|ing) away\b"),
    ("upper bound, lower bound", r"\b(upper|lower) (border|barrier)s?\b"),
    ("work item", r"\bitems? of work\b"),
    ("no-op", r"\bdoes nothing op\b"),
    ("remainder", r"\brest of (the |a )?division\b"),
    ("smallest, largest singular value", r"\b(least|greatest) singular\b"),
    ("eigenvalue", r"\bproper values?\b"),
    ("running sum, prefix sum", r"\bsums? so far\b"),
    ("NaN", r"\bnumbers? that (is|are) (none|not one)\b"),
]

# (file, pattern of the matched text, reason): the uses that are right.
EXCEPTIONS = [
    ("CONTRIBUTING.md", r"", "names what is refused"),
    ("scripts/checklib/voice.py", r"", "names what is refused"),
    ("test/scripts/test_checks.py", r"", "tests what is refused"),
    ("tools/pe/Doctor.cpp", r"folder", "a key of the JSON of pe doctor"),
    ("scripts/check-links", r"^folder$", "a key of link-lists.json"),
    ("scripts/gpu_check.py", r"^folder$", "a flag"),
]
# Whole rooms and files that are not checked, with the reason.
UNCHECKED = {
    "passes/ToTile/PEToTile.cpp": "divided when the machine opens",
    "docs/reference/ops.md": "generated; its sources are checked",
    "docs/python/api.md": "generated; its sources are checked",
    "LICENSE": "not ours to change",
}

_RULES = [(message, re.compile(pattern, re.IGNORECASE)) for message, pattern in IDIOMS]
_RULES += [(f"a paraphrase of a term; write '{term}'", re.compile(pattern, re.IGNORECASE))
           for term, pattern in TERMS]


def is_checked(path):
    name = str(path)
    return not any(name == unchecked or name.startswith(unchecked + "/") for unchecked in UNCHECKED)


def _is_exception(path, found):
    return any(str(path) == name and re.search(pattern, found)
               for name, pattern, _ in EXCEPTIONS)


def _found_in(block):
    """Yields (offset, message, text) for every idiom of a block."""
    if block.kind == prose.DOC:
        match = DOC_START.match(block.text)
        if match:
            yield match.end(), DOC_START_MESSAGE, block.flat[:60]
            return
    for message, pattern in _RULES:
        for match in pattern.finditer(block.flat):
            yield match.end() - 1, message, match.group()


def problems(path, text):
    """The idioms of a file as "PATH:LINE: found ..." lines."""
    if not is_checked(path):
        return []
    return [f"{path}:{block.line_at(offset)}: found {message}: {' '.join(found.split())[:70]}"
            for block in prose.blocks(path, text)
            for offset, message, found in _found_in(block)
            if not _is_exception(path, found)]
