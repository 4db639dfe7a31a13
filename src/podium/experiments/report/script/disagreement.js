// Two methods on every query: a scatter, and the queries on which they differ most.
const SAME = 1e-9;
const repeated = new Set(data.queries.ids).size < data.queries.ids.length; // then ids alone do not identify queries
const queryName = (number) => (repeated ? `~${number}` : data.queries.ids[number]);
const openQuery = (number, pair = {}) => change({ ...pair, query: queryName(number) });

// The open query; if none was chosen, the one on which the two methods differ most.
function queryNumber() {
  const { ids } = data.queries;
  const named = ids.findIndex((_, number) => queryName(number) === state.query);
  if (state.query) return named < 0 ? ids.indexOf(state.query) : named;
  return byDifference(differences())[0]?.number ?? -1;
}

function differences() {
  const [a, b] = [state.a, state.b].map((name) => data.values[state.metric][numberOf.get(name)]);
  return data.queries.ids
    .map((id, number) => ({ id, number, a: a[number], b: b[number], difference: a[number] - b[number] }))
    .filter((query) => query.a !== null && query.b !== null);
}

const byDifference = (queries) =>
  [...queries].sort((one, other) => Math.abs(other.difference) - Math.abs(one.difference));

let pairControls = null;
function pair(box) {
  const names = methods.map(({ name }) => [name, name]);
  const metrics = Object.keys(data.values).map((name) => [name, data.silent.includes(name) ? `${name}*` : name]);
  pairControls ??= html(
    "div",
    { class: "controls" },
    choice("A", "a", names),
    choice("B", "b", names),
    metrics.length > 1 ? choice("Metric", "metric", metrics) : null,
  );
  const queries = differences();
  const [left, right] = [html("div"), html("div")];
  const columns = html("div", { class: "columns" }, left, right);
  box.append(columns); // so that the halves have a width
  left.append(scatter(left, queries));
  right.append(largest(queries));
  return [pairControls, verdict(queries), columns];
}

function verdict(queries) {
  const wins = queries.filter((query) => query.difference > SAME).length;
  const losses = queries.filter((query) => query.difference < -SAME).length;
  const mean = meanDifference(queries, data.queries.weights);
  const { total } = data.queries;
  const counted = data.queries.weights ? "their sessions" : units;
  const some = queries.length < total ? ` (of ${total}: all that have a value and fit here)` : "";
  return html(
    "p",
    { id: "pair-verdict" },
    html("strong", {}, state.a),
    ` is better on ${wins}, `,
    html("strong", {}, state.b),
    ` on ${losses} of ${queries.length} ${units}${some}; equal on ${queries.length - wins - losses}. `,
    `Mean difference of ${state.metric} (${data.convention}) over ${counted}: ${signed(mean)}.`,
  );
}

// The mean over queries, or over what their weights count.
function meanDifference(queries, weights) {
  const weight = ({ number }) => weights?.[number] ?? 1;
  const total = queries.reduce((sum, query) => sum + weight(query), 0);
  return queries.reduce((sum, query) => sum + weight(query) * query.difference, 0) / (total || 1);
}

function scatter(box, queries) {
  const both = axis("", [0, SAME, ...queries.flatMap((query) => [query.a, query.b])], { grid: true });
  const chart = frame({
    box,
    height: Math.min(Math.max(280, box.clientWidth), 440),
    label: `${state.metric} of ${state.a} against ${state.b} on each ${data.unit}`,
    x: { ...both, name: `${state.a}: ${state.metric} (${data.convention})` },
    y: { ...both, name: state.b },
    role: "group",
  });
  const { root, px, py } = chart;
  const [from, to] = [both.low, both.high];
  root.append(svg("line", { class: "diagonal", x1: px(from), y1: py(from), x2: px(to), y2: py(to) }));
  const opened = queryNumber();
  const ordered = [...queries].sort((one, other) => one.a - other.a || one.b - other.b); // the order of the arrow keys
  const points = ordered.map((query) => {
    const side = query.difference > SAME ? "wins" : query.difference < -SAME ? "loses" : "ties";
    const open = query.number === opened;
    const tip = `${data.unit} ${query.id}: ${state.a} ${four(query.a)}, ${state.b} ${four(query.b)}`;
    return svg("circle", {
      class: `point ${side}${open ? " open" : ""}`,
      cx: px(query.a),
      cy: py(query.b),
      r: open ? 7 : 4.5,
      role: "button",
      "aria-label": tip,
      "data-tip": tip,
      onclick: () => openQuery(query.number),
    });
  });
  root.append(...points);
  roving(root, points, { start: Math.max(0, ordered.findIndex(({ number }) => number === opened)) });
  return root;
}

const opener = (id, onclick) => html("button", { type: "button", class: "link", onclick }, id);

function largest(queries) {
  const opened = queryNumber();
  const numbers = [1, 2, 3];
  const rows = byDifference(queries)
    .slice(0, 10)
    .map(({ id, number, a, b, difference }) => {
      const cells = [opener(id, () => openQuery(number)), four(a), four(b), signed(difference)];
      return row(cells, numbers, { class: number === opened ? "best" : null });
    });
  const heads = [data.unit, state.a, state.b, "difference"];
  return table(`Largest differences of ${state.metric} (${data.convention})`, heads, rows, { numbers, id: "largest" });
}

// Queries on which the methods, without floors, differ most.
function disputed() {
  const values = data.values[data.primary];
  const able = strong.map(({ name }) => numberOf.get(name));
  const ranges = data.queries.ids.map((id, number) => {
    const order = able.filter((i) => values[i][number] !== null).sort((i, j) => values[j][number] - values[i][number]);
    const [high, low] = [order[0], last(order)];
    return { id, number, high, low, range: order.length > 1 ? values[high][number] - values[low][number] : 0 };
  });
  const rows = ranges
    .filter(({ range }) => range > SAME)
    .sort((one, other) => other.range - one.range)
    .slice(0, 10)
    .map(({ id, number, high, low, range }) => {
      const open = () => openQuery(number, { a: methods[high].name, b: methods[low].name });
      const who = [high, low].map((i) => `${methods[i].name} ${four(values[i][number])}`);
      return row([opener(id, open), ...who, four(range)], [3]);
    });
  const caption = `${capital(units)} on which methods differ most (${measure}; floors left out)`;
  const heads = [data.unit, "best there", "worst there", "range"];
  return rows.length ? [table(caption, heads, rows, { numbers: [3], id: "disputed" })] : [];
}
