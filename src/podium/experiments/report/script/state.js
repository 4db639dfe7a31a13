// What the reader has chosen. It is kept in the address after "#", so that a link shows the same view:
// #sort=map&find=list&methods=pmop;listnet&a=pmop&b=listnet&query=3
const strong = methods.filter((method) => method.family !== "floor");
const first = (strong[0] ?? methods[0])?.name ?? "";
const defaults = {
  sort: data.primary,
  order: "",
  find: "",
  family: "",
  methods: (strong.length ? strong : methods).slice(0, 5).map((method) => method.name),
  metric: data.primary,
  a: first,
  b: [...strong, ...methods].find((method) => method.name !== first)?.name ?? first,
  query: "",
  why: "",
  fold: "",
  weights: [...strong, ...methods].find((method) => method.weights)?.name ?? "",
};
const state = { ...defaults };
const drawn = new Set([...methods, ...data.published].map(({ name }) => name));
const familyButtons = [...document.querySelectorAll("#filters [data-family]")];
const followers = [];

// What a link may contain; anything else is ignored.
const allowed = {
  order: (order) => ["ascending", "descending"].includes(order),
  family: (name) => familyButtons.some((button) => button.dataset.family === name),
  metric: (metric) => Object.hasOwn(data.values, metric),
  a: (name) => numberOf.has(name),
  b: (name) => numberOf.has(name),
  fold: (fold) => data.folds.some((_, i) => String(i) === fold),
  weights: (name) => methods[numberOf.get(name)]?.weights,
};

// `draw` is called whenever one of the named choices changes.
function follow(names, draw) {
  followers.push({ names, draw });
}

function change(changes) {
  Object.assign(state, changes);
  remember();
  for (const { names, draw } of followers) if (names.some((name) => name in changes)) draw();
}

// A list of names as one text, whatever characters they contain.
const joined = (names) => names.map((name) => name.replaceAll("%", "%25").replaceAll(";", "%3B")).join(";");
const parted = (text) => text.split(";").map((name) => name.replaceAll("%3B", ";").replaceAll("%25", "%"));

function remember() {
  const parameters = new URLSearchParams();
  const written = (value) => (Array.isArray(value) ? joined(value) : value);
  for (const [name, value] of Object.entries(state)) {
    if (written(value) !== written(defaults[name])) parameters.set(name, written(value));
  }
  const text = parameters.toString().replaceAll("%3B", ";").replaceAll("%40", "@");
  try {
    history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search);
  } catch {
    // some viewers of local files forbid this; then the view has no link
  }
}

function recall() {
  if (location.hash && !location.hash.includes("=")) return false; // a plain "#section"
  const given = new URLSearchParams(location.hash.slice(1));
  for (const name of Object.keys(defaults)) {
    const value = given.get(name);
    const isRefused = value !== null && name in allowed && !allowed[name](value);
    if (value === null || isRefused) state[name] = defaults[name];
    else state[name] = name === "methods" ? parted(value).filter((method) => drawn.has(method)) : value;
  }
  return true;
}

function toggleMethod(name) {
  const others = state.methods.filter((other) => other !== name);
  change({ methods: state.methods.includes(name) ? others : [...others, name] });
}

// Color and marker of a highlighted method, by its position among the highlighted; null for the others.
function styleOf(name) {
  const place = state.methods.indexOf(name);
  return place < 0 ? null : { color: `c${place % 7}`, dashed: Math.floor(place / 7) % 2 === 1, shape: place % 4 };
}

// Buttons that choose which methods are highlighted: the legend of every chart. If there are many, they are folded.
let unfolded = false;
function legend(among) {
  const about = { class: "chips legend", role: "group", "aria-label": "Methods to highlight" };
  const chips = (some) => html("div", about, ...some.map(chip));
  if (among.length <= 16) return chips(among);
  const others = among.filter(({ name }) => !styleOf(name));
  const summary = html("summary", {}, `${others.length} other methods`);
  const more = html("details", { class: "more", open: unfolded }, summary, chips(others));
  more.addEventListener("toggle", () => (unfolded = more.open));
  return html("div", {}, chips(among.filter(({ name }) => styleOf(name))), more);
}

function chip({ name }) {
  const style = styleOf(name);
  const color = style ? `swatch ${style.color}` : "swatch";
  const swatch = svg("svg", { viewBox: "0 0 22 12", class: color, "aria-hidden": "true" });
  swatch.append(svg("line", { x1: 1, x2: 21, y1: 6, y2: 6, class: style?.dashed ? "dashed" : null }));
  if (style) swatch.append(marker(style.shape, 11, 6, 4));
  const about = { type: "button", "aria-pressed": String(Boolean(style)), onclick: () => toggleMethod(name) };
  return html("button", about, swatch, name);
}
