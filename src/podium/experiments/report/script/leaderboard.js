// The leaderboard is in the page already; this sorts and filters it.
function leaderboard() {
  const table = document.getElementById("board");
  if (!table) return;
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  const rows = [...body.rows];

  const sort = () => {
    const column = heads.findIndex((head) => head.dataset.key === state.sort);
    if (column < 0) return;
    const order = state.order || heads[column].dataset.first;
    for (const head of heads) head.removeAttribute("aria-sort");
    heads[column].setAttribute("aria-sort", order);
    const sign = order === "ascending" ? 1 : -1;
    const key = (row) => (column === 0 ? row.dataset.method : (row.cells[column].dataset.value ?? ""));
    const compare = (one, other) => {
      const [x, y] = [key(one), key(other)];
      if (x === "" || y === "") return (x === "") - (y === ""); // rows without a figure stay last
      const difference = Number(x) - Number(y);
      return sign * (Number.isNaN(difference) ? x.localeCompare(y) : difference);
    };
    body.append(...[...rows].sort(compare));
  };

  const filter = () => {
    const words = state.find.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const text = `${row.dataset.method} ${row.dataset.family}`.toLowerCase();
      const fits = words.every((word) => text.includes(word)) && (!state.family || row.dataset.family === state.family);
      row.hidden = !fits;
      shown += fits;
    }
    document.getElementById("found").textContent = shown < rows.length ? `${shown} of ${rows.length} shown` : "";
    for (const button of familyButtons) {
      button.setAttribute("aria-pressed", String(button.dataset.family === state.family));
    }
    if (input.value !== state.find) input.value = state.find;
  };

  for (const head of heads) {
    head.querySelector("button")?.addEventListener("click", () => {
      const first = head.dataset.first;
      const other = first === "ascending" ? "descending" : "ascending";
      const order = head.getAttribute("aria-sort") === first ? other : first;
      change({ sort: head.dataset.key, order: order === first ? "" : order });
    });
  }
  const input = document.getElementById("find");
  input.addEventListener("input", () => change({ find: input.value }));
  for (const button of familyButtons) {
    const { family } = button.dataset;
    button.addEventListener("click", () => change({ family: state.family === family ? "" : family }));
  }
  document.getElementById("filters").hidden = false;
  follow(["sort", "order"], sort);
  follow(["find", "family"], filter);
  sort();
  filter();
}
