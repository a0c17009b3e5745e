"""A kernel on a page and as lines: what it shows is what was counted, and nothing that it names gets out."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from tests.compiled.sass_texts import text_of
from tests.compiled.test_slow import HERE, texts

from tilewise.compiled.files import Artifact, kind_of
from tilewise.compiled.findings import findings_of
from tilewise.compiled.kernel import ReadKernel
from tilewise.compiled.lines import Line
from tilewise.compiled.reading import WantedLaunch, kernels_of
from tilewise.pictures.kernel.page import page_of, said, shown_lines
from tilewise.pictures.kernel.request import picture_of
from tilewise.pictures.kernel.source import SourceFiles, folders_of

HOSTILE = '<script>alert("x")</script>&\'"><img/src=x>'
HOSTILE_FILE = "<script>alert(1)<!--<img src=x>.cu"
EMPTY_ELEMENTS = {"meta", "link", "path", "rect", "br", "img"}


def kernel_of(*names: str, **wanted) -> ReadKernel:
    artifacts = [Artifact(kind_of(texts()[name]), texts()[name]) for name in names]
    (kernel,) = kernels_of(artifacts, WantedLaunch(**wanted))
    return kernel


def transpose() -> ReadKernel:
    return kernel_of("transpose_unused_pad.sass", block=(16, 16, 1), args=[None, None, 64, 64])


def page(*kernels: ReadKernel, folders: tuple[Path, ...] = (HERE,)) -> str:
    return page_of(kernels, {kernel.name: findings_of(kernel) for kernel in kernels}, SourceFiles(folders))


class Reader(HTMLParser):
    """Elements in the order of the page: their names, attributes and texts; refuses what is not closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in EMPTY_ELEMENTS:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "script" not in self.open and "style" not in self.open:
            self.text += data

    def of(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.elements if tag == name]


# -- the page --------------------------------------------------------------------------------------------


def test_the_page_needs_nothing_else():
    text = page(transpose())
    read = Reader(text)
    assert "http" not in re.sub(r'http-equiv="Content-Security-Policy"', "", text)
    assert [one["href"] for one in read.of("link")] == ["data:,"]
    assert all(one["href"].startswith("#") for one in read.of("a"))
    names = {name for _, attributes in read.elements for name in attributes}
    assert not names & {"style", "src"}
    assert not [name for name in names if name.startswith("on")]
    (policy,) = [one["content"] for one in read.of("meta") if "http-equiv" in one]
    assert "default-src 'none'" in policy


def test_links_lead_to_places_of_the_page():
    read = Reader(page(transpose(), kernel_of("bias_between_dots.sass", "bias_between_dots.ttgir")))
    ids = [one["id"] for _, one in read.elements if "id" in one]
    assert len(ids) == len(set(ids))
    assert {one["href"][1:] for one in read.of("a")} <= set(ids)


def test_the_page_has_the_counts_beside_the_source():
    text = page(transpose())
    rows = re.findall(r"<tr class=\"([^\"]*)\" id=\"k0-s0-(\d+)\">(.*?)</tr>", text)
    assert [(heat, line) for heat, line, _ in rows] == [("ok", "8"), ("h5", "12"), ("ok", "13")]
    (row,) = [row for _, line, row in rows if line == "12"]
    assert "float value = tile[threadIdx.x * kSide + threadIdx.y];" in row
    assert re.findall(r'<td class="number">([^<]*)</td>', row) == ["4 B", "8", "64", "8"]
    assert "__syncthreads();" in text


def test_without_the_source_the_known_lines_stand():
    text = page(transpose(), folders=())
    assert "__syncthreads" not in text
    assert re.findall(r'id="k0-s0-(\d+)"', text) == ["8", "12", "13"]


def test_a_kernel_without_findings_and_without_lines():
    clean = text_of("S2R R0, SR_TID.X", "LEA R0, R0, RZ, 0x4", "LDS.128 R4, [R0]", "EXIT")
    (kernel,) = kernels_of([Artifact(kind_of(clean), clean)], WantedLaunch(block=(32, 1, 1)))
    text = page(kernel)
    Reader(text)
    assert "No findings" in text
    assert "Accesses without a line" in text


def test_layouts_and_conversions_are_on_the_page():
    read = Reader(page(kernel_of("byte_matvec.sass", "byte_matvec.ttgir")))
    assert "Conversions of layouts" in read.text
    assert "S[(16, (4, 32, 4)) : (4@reg, (1@warpid, 1@laneid, 1@reg))]" in read.text


@pytest.mark.parametrize("place", ["name", "file", "source", "instruction"])
def test_hostile_texts_stay_texts(tmp_path, place):
    name = HOSTILE if place == "name" else "kernel"
    file = HOSTILE_FILE if place == "file" else "a.cu"
    (tmp_path / "a.cu").write_text(f"first\n{HOSTILE if place == 'source' else 'x'}\n")
    instruction = "LDS R1, [R0]"
    text = text_of(
        "S2R R0, SR_TID.X", "IMAD.SHL.U32 R0, R0, 0x80, RZ", f'//## File "{file}", line 2', instruction
    )
    (kernel,) = kernels_of([Artifact(kind_of(text), text)], WantedLaunch(block=(32, 1, 1)))
    kernel = ReadKernel(name, kernel.program, kernel.run, told=(HOSTILE,) if place == "instruction" else ())
    read = Reader(page(kernel, folders=(tmp_path,)))
    assert len(read.of("script")) == 1
    assert read.of("img") == []
    assert (HOSTILE_FILE if place == "file" else HOSTILE) in read.text


def test_said_leaves_no_sign_of_markup():
    assert not set("<>\"'") & set(said(HOSTILE))
    assert said("a\x00b\u202ec") == "a\ufffdb\ufffdc"


# -- the source ------------------------------------------------------------------------------------------


def test_files_that_are_no_sources_are_not_shown(tmp_path):
    (tmp_path / "secret.txt").write_text("a secret\n")
    (tmp_path / "kernel.cu").write_text("line one\n  line two\n")
    sources = SourceFiles([tmp_path])
    assert sources.lines(str(tmp_path / "secret.txt")) == ()
    assert sources.line(Line("/elsewhere/kernel.cu", 2)) == "line two"
    assert sources.line(Line(str(tmp_path / "kernel.cu"), 1)) == "line one"
    assert [sources.line(line) for line in (None, Line("kernel.cu", 0), Line("kernel.cu", 3))] == ["", "", ""]
    assert sources.line(Line("a\0b.cu", 1)) == ""


def test_folders_are_those_of_the_files(tmp_path):
    assert folders_of([tmp_path, tmp_path / "a.cubin", "text\nwith lines", b"x", "-"]) == [tmp_path]


def test_lines_around_accesses_are_shown_and_long_gaps_are_not():
    assert shown_lines([2, 12], 30) == [*range(1, 16)]
    assert shown_lines([2, 22], 30) == [*range(1, 6), *range(19, 26)]
    assert shown_lines([28, 33], 30) == [25, 26, 27, 28, 29, 30, 33]


# -- pictures of requests --------------------------------------------------------------------------------


def pictures(kernel: ReadKernel) -> dict[tuple[int, str], str]:
    return {(row.line.number, row.space): picture_of(row) for row in kernel.rows}


def test_the_picture_of_banks_has_each_lane_and_its_wavefront():
    picture = pictures(transpose())[12, "shared"]
    assert len(re.findall(r'class="dim" x="0" y="\d+">lane \d+<', picture)) == 32
    assert len(re.findall(r'<path class="hot"', picture)) == 32
    marks = re.findall(r'<text class="mark"[^>]*>(\w)<', picture)
    assert sorted(marks) == sorted("12345678" * 4)
    assert ">8 wavefronts<" in picture


def test_the_picture_without_conflicts_has_no_red():
    picture = pictures(transpose())[8, "shared"]
    assert 'class="hot"' not in picture
    assert len(re.findall(r'<path class="fine"', picture)) == 32


def test_phases_of_a_wide_store_are_drawn_apart():
    picture = pictures(kernel_of("fft_exchange.sass"))[22, "shared"]
    assert picture.count(">4 wavefronts<") == 4


def test_the_picture_of_sectors_has_what_moves_and_what_is_used():
    picture = pictures(transpose())[8, "global"]
    assert "<title>4 sectors where 4 would do: 128 bytes of 128 are used</title>" in picture
    strided = text_of(
        "S2R R0, SR_TID.X", "IMAD.SHL.U32 R0, R0, 0x40, RZ", "MOV R1, RZ", "LDG.E R2, [R0.64]", "EXIT"
    )
    (kernel,) = kernels_of([Artifact(kind_of(strided), strided)], WantedLaunch(block=(32, 1, 1)))
    picture = picture_of(kernel.rows[0])
    assert "<title>32 sectors where 4 would do: 128 bytes of 1024 are used</title>" in picture
    assert len(re.findall(r'class="moved"', picture)) == 32
    assert (
        sum(
            int(width) // 2
            for width in re.findall(r"h(\d+)v13", "".join(re.findall(r'class="fine" d="([^"]*)"', picture)))
        )
        == 128
    )
