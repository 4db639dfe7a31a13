// One stop of the Tab key for many elements: arrow keys move between them, Enter and the space bar click.
function roving(root, items, { columns = 1, start = 0 } = {}) {
  const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns };
  items.forEach((item, i) => item.setAttribute("tabindex", i === start ? "0" : "-1"));
  root.addEventListener("keydown", (event) => {
    const { key, target } = event;
    const next = items[items.indexOf(target) + steps[key]];
    if (event.altKey || event.ctrlKey || event.metaKey || !items.includes(target)) return;
    if (key === "Enter" || key === " ") target.dispatchEvent(new MouseEvent("click"));
    else if (next) {
      target.setAttribute("tabindex", "-1");
      next.setAttribute("tabindex", "0");
      next.focus();
    } else return;
    event.preventDefault();
  });
}
