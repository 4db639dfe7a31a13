// Why a document of the opened query is where it is, or one above another: the chosen method's contributions of features.
function why(number, query) {
  const { explained } = data;
  if (!explained) return [];
  const heading = html("h3", {}, `Why ${explained.method} ranks them so`);
  if (!query.why) {
    const limit = `${many(explained.queries, data.unit, units)} ${explained.queries === 1 ? "is" : "are"} explained`;
    return [heading, html("p", { class: "soft" }, `This one is not: ${limit}, those on which methods differ most.`)];
  }
  const shown = chosenDocuments(number, query);
  const hint = `Choose one or two ${data.item}s in the rankings; the first ${query.why.documents.length} of ${explained.method} are explained.`;
  return [heading, shown.length ? contributions(query, shown) : null, html("p", { class: "soft" }, hint), how()].filter(Boolean);
}

const how = () => html("p", { class: "soft" }, `${capital(data.explained.how)}. Contributions add up to the difference of scores.`);

// The documents that are explained: those chosen, at first the first two of the ranking.
function chosenDocuments(number, query) {
  const { documents } = query.why;
  const [name, ...chosen] = parted(state.why);
  if (name !== queryName(number)) return documents.slice(0, 2);
  return chosen.map(Number).filter((document) => documents.includes(document)).slice(0, 2);
}

// A document's name, as a button if it can be explained. Of three that are chosen, the first is forgotten.
function explainable(number, query, document) {
  const name = query.ids[document];
  if (!query.why?.documents.includes(document)) return name;
  const chosen = chosenDocuments(number, query);
  const isChosen = chosen.includes(document);
  const next = isChosen ? chosen.filter((other) => other !== document) : [...chosen, document].slice(-2);
  const onclick = () => change({ why: joined([queryName(number), ...next.map(String)]) });
  return html("button", { type: "button", class: "link", "aria-pressed": String(isChosen), onclick }, name);
}

function contributions(query, [a, b]) {
  const place = (document) => query.why.documents.indexOf(document);
  if (b !== undefined && place(a) > place(b)) [a, b] = [b, a];
  const { features, values, parts, others } = query.why;
  const minus = (of) => (b === undefined ? of(place(a)) : of(place(a)) - of(place(b)));
  const rows = features
    .map((feature, j) => ({ name: featureName(feature), j, part: minus((i) => parts[i][j]) }))
    .sort((x, y) => Math.abs(y.part) - Math.abs(x.part));
  const largest = Math.max(...rows.map(({ part }) => Math.abs(part)), 1e-300);
  const value = (document, j) => figures(values[place(document)][j]);
  const numbers = b === undefined ? [1, 2] : [1, 2, 3];
  const line = ({ name, j, part }) =>
    row([name, value(a, j), ...(b === undefined ? [] : [value(b, j)]), plusMinus(part), partBar(part / largest)], numbers);
  const blank = b === undefined ? [""] : ["", ""];
  const rest = minus((i) => others[i]);
  const total = rows.reduce((sum, { part }) => sum + part, rest);
  const last = [
    row(["other features", ...blank, plusMinus(rest), ""], numbers, { class: "soft" }),
    row([b === undefined ? "score above the reference" : "difference of scores", ...blank, plusMinus(total), ""], numbers, { class: "best" }),
  ];
  const name = (document) => `${query.ids[document]} (#${place(document) + 1})`;
  const caption = b === undefined ? name(a) : `${name(a)} above ${name(b)}`;
  const heads = ["feature", query.ids[a], ...(b === undefined ? [] : [query.ids[b]]), "contribution", ""];
  return table(html("strong", {}, caption), heads, [...rows.map(line), ...last], { numbers, id: "why" });
}

const featureName = (feature) => data.features?.[feature] ?? `feature ${feature + 1}`;
const figures = (value) => (value === null ? "–" : String(Number(value.toPrecision(4))));
const plusMinus = (value) => (value > 0 ? "+" : value < 0 ? "−" : "") + figures(Math.abs(value));

function partBar(share) {
  const length = 100 * Math.abs(share);
  const kind = share < 0 ? "minus" : "plus";
  const bar = svg("rect", { class: kind, x: share < 0 ? 100 - length : 100, y: 2, width: length, height: 12 });
  const axis = svg("line", { x1: 100, x2: 100, y1: 0, y2: 16 });
  return svg("svg", { class: "part", viewBox: "0 0 200 16", preserveAspectRatio: "none", "aria-hidden": "true" }, bar, axis);
}
