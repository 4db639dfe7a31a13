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
  const counts = query.grades.map(([grade, n]) => `${n} of grade ${grade}`).join(", ");
  const means = data.averaged ? ` Figures are means over ${data.averaged}; the rankings are of the first.` : "";
  const facts = html("p", {}, `${many(query.documents, data.item, `${data.item}s`)}: ${counts}${fold}.${means}`);
  const [a, b] = [state.a, state.b].map((name) => query.orders[numberOf.get(name)]);
  const lists = [ranked(state.a, number, query, a, b), ranked(state.b, number, query, b, a)];
  return [facts, html("div", { class: "columns rankings", id: "rankings" }, ...lists), ...why(number, query)];
}

const topGrade = Math.max(1, ...(data.rankings ?? []).flatMap((query) => query?.grades.map(([grade]) => grade) ?? []));

function ranked(name, number, query, order, other) {
  const value = data.values[state.metric][numberOf.get(name)][number];
  const rows = order.map((document, i) => {
    const there = other.indexOf(document);
    const elsewhere = there < 0 ? `> ${other.length}` : there === i ? "=" : String(there + 1);
    const place = html("td", { class: "number soft" }, String(i + 1));
    const title = html("th", { scope: "row" }, explainable(number, query, document));
    return row([place, badge(query.grade[document]), title, elsewhere], [3]);
  });
  const caption = [html("strong", {}, name), ` ${state.metric} ${four(value)}`];
  return table(caption, ["#", "grade", data.item, "rank there"], rows, { numbers: [0, 3] });
}

function badge(grade) {
  const share = Math.max(0, Math.min(1, grade / topGrade));
  const element = html("span", { class: "grade" }, String(grade));
  element.style.setProperty("--much", `${Math.round(share * 100)}%`);
  return element;
}
