// The figures, and small helpers. Texts reach the page as text nodes and attributes only, never as markup.
const data = JSON.parse(document.getElementById("data").textContent);
const methods = data.methods;
const numberOf = new Map(methods.map((method, i) => [method.name, i]));
const { units } = data;
const measure = `${data.primary} (${data.convention})`;

function build(namespace, tag, attributes, children) {
  const element = namespace ? document.createElementNS(namespace, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}
const html = (tag, attributes = {}, ...children) => build(null, tag, attributes, children);
const svg = (tag, attributes = {}, ...children) => build("http://www.w3.org/2000/svg", tag, attributes, children);

const four = (value) => (value === null ? "–" : value.toFixed(4));
const signed = (value) => (value > 0 ? "+" : value < 0 ? "−" : "±") + Math.abs(value).toFixed(4);
const time = (s) => `${s >= 100 ? s.toFixed(0) : s >= 1 ? s.toFixed(1) : s >= 0.01 ? s.toFixed(2) : s.toPrecision(1)} s`;
const many = (n, one, more) => `${n} ${n === 1 ? one : more}`;
const capital = (text) => text[0].toUpperCase() + text.slice(1);
const last = (list) => list[list.length - 1];

// A row of a table; its first cell is its heading. Figures, in the columns `numbers`, are aligned to the right;
// elements are used as they are.
function row(cells, numbers = [], attributes = {}) {
  const cell = (content, i) => {
    if (content instanceof HTMLTableCellElement) return content;
    if (i === 0) return html("th", { scope: "row" }, content);
    return html("td", { class: numbers.includes(i) ? "number" : null }, content);
  };
  return html("tr", attributes, ...cells.map(cell));
}

// A table that scrolls sideways if necessary, with a caption: a text, or pieces of one.
function table(caption, heads, rows, { numbers = [], kind = "scroll", ...attributes } = {}) {
  const pieces = [caption].flat();
  const label = pieces.map((piece) => piece.textContent ?? piece).join("");
  const cell = (content, i) =>
    content instanceof HTMLTableCellElement
      ? content
      : html("th", { scope: "col", class: numbers.includes(i) ? "number" : null }, content);
  return html(
    "div",
    { class: kind, tabindex: "0", role: "region", "aria-label": label },
    html(
      "table",
      attributes,
      html("caption", {}, html("div", {}, ...pieces)),
      html("thead", {}, html("tr", {}, ...heads.map(cell))),
      html("tbody", {}, ...rows),
    ),
  );
}

// A labeled list of texts that shows and sets the reader's choice under `name`. It is created once: a list that is
// typed into would lose its first letters if it were drawn again after each.
function choice(label, name, options) {
  const select = html("select", { onchange: () => change({ [name]: select.value }) });
  for (const [key, text] of options) select.append(html("option", { value: key }, text));
  const show = () => (select.value = state[name]);
  follow([name], show);
  show();
  return html("label", {}, `${label} `, select);
}

function scrollTo(element) {
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  element?.scrollIntoView({ behavior: still ? "auto" : "smooth", block: "start" });
}
