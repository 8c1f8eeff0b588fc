"""One alphabet for the book: every letter of every formula stands on the notation page, with its meaning and place."""

import re
from pathlib import Path

import nbformat
import pytest
from symbols import all_symbols, is_part_of, symbols

BOOK = Path(__file__).resolve().parents[1] / "book"
CHAPTERS = {int(path.stem[:2]): path for path in sorted(BOOK.glob("[0-9][0-9]_*.ipynb"))}
FOURS = {"1 to 4": range(1, 5), "5 to 8": range(5, 9)}


def markdown(path):
    return "\n\n".join(cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "markdown")


def numbers(text):
    """Chapters as they stand in a table: "all", "3", "1-4, 6".

    >>> sorted(numbers("1-3, 6"))
    [1, 2, 3, 6]
    """
    if text.strip() == "all":
        return set(CHAPTERS)
    ends = [part.split("-") for part in re.sub("\N{EN DASH}", "-", text).split(",")]
    return {number for end in ends for number in range(int(end[0]), int(end[-1]) + 1)}


def meanings(page):
    """(names, chapters, meaning) for each row of the tables: a letter in the first column, chapters in the last."""
    tables = page.split("## Our letters")[1].split("\n## ")[0]
    rows = [line.strip(" |").split(" | ") for line in tables.splitlines() if line.startswith("| $")]
    return [(set(symbols(row[0])), numbers(row[-1]), row[1]) for row in rows]


def unlisted(text, chapter, rows):
    """The symbols of a chapter that no row of its has, entries and rows of matrices that are there left out."""
    listed = set().union(*(names for names, chapters, _ in rows if chapter in chapters))
    found = all_symbols(text).items()
    return sorted(name for name, indexed in found if name not in listed and not (indexed and is_part_of(name, listed)))


def two_jobs(rows, chapters):
    """The symbols that have more than one meaning somewhere in these chapters."""
    here = [names for names, where, _ in rows if where & set(chapters)]
    return {name for names in here for name in names if sum(name in others for others in here) > 1}


PAGE = markdown(BOOK / "notation.ipynb")
ROWS = meanings(PAGE)


def test_letters_are_read_with_their_dress_and_an_entry_belongs_to_its_matrix():
    found = symbols(r"\hat{\mathbf X}_{nj} + x_{nj}\, \sigma^2 + \text{const} + N(\mathbf 0, \mathcal N) \tag{1.4}")
    assert found == {
        **{"bold X": True, "n": False, "j": False, "x": True, "sigma": False},
        **{"N": False, "calligraphic N": False},
    }
    rows = [({"bold Y", "N"}, {1}, "data"), ({"N"}, {1}, "the normal distribution")]
    assert unlisted(r"$y_{nd}$ of $\mathbf Y$ and $z$", 1, rows) == ["d", "n", "z"]
    assert unlisted(r"$\mathbf Y$", 2, rows) == ["bold Y"] and two_jobs(rows, {1, 2}) == {"N"}


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_every_symbol_of_a_chapter_stands_on_the_notation_page(chapter):
    assert unlisted(markdown(CHAPTERS[chapter]), chapter, ROWS) == []


@pytest.mark.parametrize("which", FOURS)
def test_a_letter_with_two_meanings_in_these_chapters_is_told(which):
    (told,) = re.findall(rf"(?m)^\*\*Two jobs in chapters {which}\*\*(.*)$", PAGE)
    assert set(all_symbols(re.sub(r"\([^()]*\)", "", told))) == two_jobs(ROWS, FOURS[which])


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_the_notation_page_names_no_letter_that_a_chapter_does_not_have(chapter):
    used = set(all_symbols(markdown(CHAPTERS[chapter])))
    few = [row for row in ROWS if chapter in row[1] and row[1] != set(CHAPTERS)]
    assert [meaning for names, _, meaning in few if not names & used] == []
