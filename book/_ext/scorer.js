// How the search page orders what it finds: the index of the book, then titles and headings, then the text; whole words
// before parts of words; and where that leaves a tie, chapters in their order, then the appendices.
var Scorer = {
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
  score: ([page, title, anchor, description, score]) => score - (parseInt(page) || 99) / 100,
};
