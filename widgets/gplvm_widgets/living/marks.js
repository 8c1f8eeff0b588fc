// What several living figures do to the panels of their opening.
export const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
export const changed = (panel, changes) => ({ // the panel with these fields of its marks, by key, in place of the old
  ...panel,
  marks: panel.marks.map((mark) => ({ ...mark, ...changes[mark.key] })),
});
