// Charts as SVG at the width they are shown in, so that letters keep their size on a phone.
// Colors come from the style sheet.
function marker(shape, x, y, r) {
  if (shape === 0) return svg("circle", { class: "marker", cx: x, cy: y, r });
  const [s, t] = [r * 1.8, r * 1.3];
  const square = `m${-s / 2},${-s / 2}h${s}v${s}h${-s}z`;
  const triangle = `m0,${-t}l${t},${2 * r}h${-2 * t}z`;
  const diamond = `m0,${-t}l${t},${t}l${-t},${t}l${-t},${-t}z`;
  return svg("path", { class: "marker", d: `M${x},${y}${[square, triangle, diamond][shape - 1]}` });
}

// Round numbers within or around a range.
function ticks(low, high, about = 5) {
  if (!(high > low)) high = low + (Math.abs(low) || 1) / 10;
  const raw = (high - low) / about;
  const magnitude = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * magnitude).find((s) => s >= raw * 0.999);
  const found = [];
  const first = Math.floor(low / step);
  for (let i = first; i * step < high + step * 0.999; i++) found.push(Number((i * step).toPrecision(10)));
  return found;
}

function logTicks(low, high) {
  const found = [];
  for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); e++) found.push(10 ** e);
  return found;
}

// The width of a chart's text in pixels, and as much of a text as fits into a width.
const ruler = document.createElement("canvas").getContext("2d");
ruler.font = `600 12.5px ${getComputedStyle(document.body).fontFamily}`;
const wide = (text) => ruler.measureText(text).width;

function fitted(text, room) {
  if (wide(text) <= room) return text;
  const letters = [...text].slice(0, Math.ceil(room / 2));
  while (letters.length > 1 && wide(`${letters.join("")}…`) > room) letters.pop();
  return `${letters.join("")}…`;
}

// An empty chart: axes, grid, and the functions from values to places.
function frame({ box, height, label, x, y, right = 16, left, role = "img" }) {
  const width = Math.max(280, box.clientWidth || 800);
  const [top, bottom] = [14, 46];
  left ??= 34 + Math.max(0, ...y.ticks.map((tick) => wide((y.format ?? String)(tick))));
  const places = (axis, from, to) => {
    const f = axis.log ? Math.log : (v) => v;
    const [low, high] = [f(axis.low), f(axis.high)];
    return (value) => from + ((f(value) - low) / (high - low || 1)) * (to - from);
  };
  const px = places(x, left, width - right);
  const py = places(y, height - bottom, top);
  const size = { viewBox: `0 0 ${width} ${height}`, width, height };
  const root = svg("svg", { class: "chart", ...size, role, "aria-label": label });
  const write = (kind, at, anchor, text) => root.append(svg("text", { class: kind, ...at, "text-anchor": anchor }, text));
  for (const tick of y.ticks) {
    root.append(svg("line", { class: "grid", x1: left, x2: width - right, y1: py(tick), y2: py(tick) }));
    write("tick", { x: left - 8, y: py(tick) + 4 }, "end", (y.format ?? String)(tick));
  }
  let edge = -Infinity; // labels that would touch the one before them are left out
  for (const tick of x.ticks) {
    const text = (x.format ?? String)(tick);
    const at = px(tick);
    if (x.grid) root.append(svg("line", { class: "grid", x1: at, x2: at, y1: top, y2: height - bottom }));
    if (at - wide(text) / 2 < edge) continue;
    edge = at + wide(text) / 2 + 6;
    write("tick", { x: at, y: height - bottom + 18 }, "middle", text);
  }
  const [below, upright] = [fitted(x.name, width), fitted(y.name, height - bottom)];
  const middle = Math.min((left + width - right) / 2, width - wide(below) / 2);
  const center = Math.max((top + height - bottom) / 2, wide(upright) / 2);
  write("axis", { x: middle, y: height - 8 }, "middle", below);
  write("axis", { transform: `translate(12 ${center}) rotate(-90)` }, "middle", upright);
  return { root, px, py, width, height, top, bottom, left, right };
}

const axis = (name, values, more = {}) => {
  const marks = ticks(Math.min(...values), Math.max(...values), more.about);
  return { name, low: marks[0], high: last(marks), ticks: marks, ...more };
};

// Heights as close as possible to the wanted ones, at least `gap` apart.
function spread(wanted, gap, top, bottom) {
  const order = wanted.map((_, i) => i).sort((i, j) => wanted[i] - wanted[j]);
  const placed = [...wanted];
  let previous = top - gap;
  for (const i of order) previous = placed[i] = Math.max(placed[i], previous + gap);
  let limit = bottom;
  for (const i of order.reverse()) {
    placed[i] = Math.min(placed[i], limit);
    limit = placed[i] - gap;
  }
  return placed;
}

// A description of the element under the pointer or with the focus, from its data-tip.
const bubble = html("div", { class: "bubble", hidden: true, "aria-hidden": "true" });
document.body.append(bubble);
for (const event of ["pointerover", "focusin"]) document.addEventListener(event, ({ target }) => explain(target));
document.addEventListener("keydown", ({ key }) => key === "Escape" && (bubble.hidden = true));

function explain(element) {
  const target = element.closest?.("[data-tip]");
  bubble.hidden = !target;
  if (!target) return;
  bubble.textContent = target.dataset.tip;
  const at = target.getBoundingClientRect();
  const half = bubble.offsetWidth / 2;
  const middle = Math.min(Math.max(at.x + at.width / 2, half + 8), document.documentElement.clientWidth - half - 8);
  bubble.style.left = `${middle - half + scrollX}px`;
  bubble.style.top = `${(at.y > bubble.offsetHeight + 16 ? at.y - bubble.offsetHeight - 8 : at.bottom + 8) + scrollY}px`;
}

// Draw a figure now, and again when the reader's choices or its width change.
function figure(id, names, paint) {
  const box = document.getElementById(id);
  if (!box) return;
  const controls = () => [...box.querySelectorAll("button, select, input, summary, [tabindex]")];
  const draw = () => {
    const focused = controls().indexOf(document.activeElement);
    const parts = paint(box).filter(Boolean);
    for (const child of [...box.children]) if (!parts.includes(child)) child.remove();
    parts.forEach((part, i) => part === box.children[i] || box.insertBefore(part, box.children[i] ?? null));
    // Where elements are new, the focus moves to the one that replaced the old one.
    if (!box.contains(document.activeElement)) controls()[focused]?.focus({ preventScroll: true });
  };
  let width = box.clientWidth;
  draw();
  follow(names, draw);
  new ResizeObserver(() => {
    if (Math.abs(box.clientWidth - width) < 2) return;
    width = box.clientWidth;
    requestAnimationFrame(draw);
  }).observe(box);
}
