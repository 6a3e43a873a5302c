"""The pages of the site: every encoding has one, links lead to pages, and a dead link is found."""

import pathlib
import unittest

from support import ROOT, TreeTest, load_script

site = load_script("make-site")


class SiteTest(TreeTest):
    def test_every_file_has_a_page_with_a_line_of_python(self):
        names = {path.stem for path in (ROOT / "examples/encodings").glob("*.mlir")}
        self.assertEqual(names - set(site.python_lines()), set())
        self.assertEqual(site.write_pages(self.root, None), [])
        pages = {path.stem for path in (self.root / "encoding").iterdir()}
        self.assertEqual(pages, names)
        page = (self.root / "encoding/fire.md").read_text()
        for part in ("pe.nn.FIRE(heads=8), mask=pe.causal", "arxiv.org/abs/2310.04418",
                     "pe.progressive", "pictures/gallery/fire.svg", "softmax segments"):
            self.assertIn(part, page)

    def test_links_lead_to_pages(self):
        site.write_pages(self.root, None)
        dead = []
        for page in self.root.rglob("*.md"):
            text = site.FENCED.sub("", page.read_text())
            dead += [f"{page}: {link}" for _, link, _, _ in site.LINK.findall(text)
                     if not (page.parent / link).exists()]
        self.assertEqual(dead, [])
        for entry in site.navigation(self.root):
            for pages in entry.values():
                if isinstance(pages, str):
                    pages = [{"": pages}]
                for page in [page for each in pages for page in each.values()]:
                    self.assertTrue((self.root / page).exists(), page)

    def test_a_dead_link_is_found(self):
        stage = site.Stage(self.root)
        page = pathlib.Path("docs/README.md")
        text = (ROOT / page).read_text().replace("](contract.md)", "](contrakt.md)")
        self.assertIn("](contrakt.md)", text)
        original = pathlib.Path.read_text
        try:
            pathlib.Path.read_text = (
                lambda self, *_: text if self == ROOT / page else original(self))
            stage.place(page)
        finally:
            pathlib.Path.read_text = original
        expected = "docs/README.md: expected a file of the tree, found the link 'contrakt.md'"
        self.assertIn(expected, stage.problems)


if __name__ == "__main__":
    unittest.main()
