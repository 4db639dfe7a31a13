// One query: both methods' rankings side by side, with grades.
function explorer() {
  const number = queryNumber();
  const name = capital(data.unit);
  const heading = html("h3", {}, number < 0 ? `Open a ${data.unit}` : `${name} ${data.queries.ids[number]}`);
  return [heading, finder(name, number), ...(number < 0 ? [missing()] : opened(number))];
}

function missing() {
  const unknown = `There is no ${data.unit} “${state.query}” here.`;
  return html("p", { class: "soft" }, state.query ? unknown : `No ${data.unit} has a value of both methods.`);
}

// Controls for moving from query to query.
function finder(name, number) {
  const { ids } = data.queries;
  const step = (by) => openQuery((Math.max(number, by > 0 ? -1 : 0) + by + ids.length) % ids.length);
  const input = html("input", {
    type: "search",
    list: "query-ids",
    value: number < 0 ? "" : ids[number],
    placeholder: `id of a ${data.unit}`,
    autocomplete: "off",
    onchange: ({ target }) => {
      const text = target.value.trim();
      const found = ids.indexOf(text);
      change({ query: found < 0 ? text : queryName(found) });
    },
  });
  return html(
    "div",
    { class: "controls" },
    html("label", {}, `${name} `, input),
    html("datalist", { id: "query-ids" }, ...ids.slice(0, 2000).map((id) => html("option", { value: id }))),
    html("button", { type: "button", onclick: () => step(-1) }, "← previous"),
    html("button", { type: "button", onclick: () => step(1) }, "next →"),
  );
}

function opened(number) {
  const query = data.rankings[number];
  if (!query) {
    const why = "there is room only for those on which methods differ most";
    return [html("p", {}, `The rankings of this ${data.unit} are not on this page: ${why}.`)];
  }
  const fold = data.folds.length > 1 ? `, ${data.folds[data.queries.fold[number]]}` : "";
  const graded = data.label === "grade" ? query.grades : [];
  const counts = graded.map(([grade, n]) => `${n} of grade ${grade}`).join(", ");
  const means = data.averaged ? ` Figures are means over ${data.averaged}; the rankings are of the first.` : "";
  const documents = many(query.documents, data.item, `${data.item}s`);
  const facts = html("p", {}, `${documents}${counts && `: ${counts}`}${fold}.${means}`);
  const [a, b] = [state.a, state.b].map((name) => query.orders[numberOf.get(name)]);
  const lists = [ranked(state.a, number, query, a, b), ranked(state.b, number, query, b, a)];
  return [facts, html("div", { class: "columns rankings", id: "rankings" }, ...lists), ...why(number, query)];
}

const topGrade = Math.max(1, ...(data.rankings ?? []).flatMap((query) => query?.grades.map(([grade]) => grade) ?? []));

function ranked(name, number, query, order, other) {
  const value = data.values[state.metric][numberOf.get(name)][number];
  const metric = data.label === "grade" ? state.metric : `${state.metric} (${data.convention})`;
  const likely = query.ranks[numberOf.get(name)];
  const rows = order.map((document, i) => {
    const there = other.indexOf(document);
    const elsewhere = there < 0 ? `> ${other.length}` : there === i ? "=" : String(there + 1);
    const place = html("td", { class: "number soft" }, String(i + 1));
    const title = html("th", { scope: "row" }, explainable(number, query, document));
    const cells = [place, badge(query.grade[document]), title, elsewhere];
    return row(likely ? [...cells, likelyRanks(likely[i], i + 1, query.documents)] : cells, [3]);
  });
  const caption = [html("strong", {}, name), ` ${metric} ${four(value)}`];
  const heads = ["#", data.label, data.item, "rank there", ...(likely ? ["likely ranks"] : [])];
  return table(caption, heads, rows, { numbers: [0, 3] });
}

// The distribution of a rank by the model: the middle nine tenths, half and median of it, and the rank itself.
function likelyRanks([low, first, median, third, high], rank, n) {
  const at = (place) => 4 + (92 * (place - 0.5)) / n;
  const text = `by the model's probabilities, rank ${low} to ${high} with 90 %, ${first} to ${third} with 50 %, median ${median}`;
  return svg(
    "svg",
    { class: "spread", viewBox: "0 0 100 12", role: "img", "aria-label": text },
    svg("title", {}, text),
    svg("line", { x1: at(low), x2: at(high), y1: 6, y2: 6 }),
    svg("rect", { x: at(first - 0.5), width: at(third + 0.5) - at(first - 0.5), y: 3, height: 6, rx: 1 }),
    svg("line", { class: "median", x1: at(median), x2: at(median), y1: 2, y2: 10 }),
    svg("circle", { cx: at(rank), cy: 6, r: 1.8 }),
  );
}

function badge(grade) {
  const share = Math.max(0, Math.min(1, grade / topGrade));
  const element = html("span", { class: "grade" }, String(grade));
  element.style.setProperty("--much", `${Math.round(share * 100)}%`);
  return element;
}
