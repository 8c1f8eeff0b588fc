// Displays begin at the left of a narrow window: centred between margins for their number, fewer would fit.
if (globalThis.MathJax && matchMedia("(max-width: 576px)").matches) globalThis.MathJax.chtml = { displayAlign: "left" };

// Boxes that scroll sideways can be reached and moved by keyboard; the others are no stop on the way.
// (The theme does the same for code and tables.)
{
  const boxes = [ // which, what they hold, and by how many pixels that may stick out: an accent does
    ["div.math", "formula", 0],
    ["span.math", "formula", 3],
    ["span.picture", "picture", 0],
  ];
  const reach = () => {
    for (const [selector, what, slack] of boxes) {
      const found = [...document.querySelectorAll(selector)];
      const wide = found.map((box) => box.scrollWidth > box.clientWidth + slack); // all measured, then all changed
      found.forEach((box, k) => {
        if (wide[k] === box.hasAttribute("tabindex")) return;
        const set = (key, value) => wide[k] ? box.setAttribute(key, value) : box.removeAttribute(key);
        set("tabindex", "0");
        set("role", "group");
        set("aria-label", `${what}, scrolls sideways`);
      });
    }
  };
  addEventListener("load", () => {
    const mathematics = globalThis.MathJax?.startup?.promise ?? Promise.resolve();
    mathematics.then(() => new ResizeObserver(reach).observe(document.body));
  });
}
