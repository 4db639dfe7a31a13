// Training time against quality. The front: from fast to slow, each method that is better than all faster ones.
function cost(box) {
  const shown = methods
    .filter((method) => method.name !== "random" || styleOf(method.name))
    .map((method) => ({ ...method, x: Math.max(method.seconds, 0.001), y: method.means[data.primary][0] }))
    .filter((method) => method.y !== null && method.seconds !== null); // of a run made elsewhere it is not known
  if (!shown.length) return [];
  const front = [];
  for (const method of [...shown].sort((one, other) => one.x - other.x || other.y - one.y)) {
    if (!front.length || method.y > last(front).y) front.push(method);
  }
  const times = shown.map((method) => method.x);
  const marks = logTicks(Math.min(...times) * 0.8, Math.max(...times) * 1.3);
  const scale = { ticks: marks, log: true, grid: true, format: (tick) => String(Number(tick.toPrecision(3))) };
  const chart = frame({
    box,
    height: 400,
    label: `Training time against ${measure}; on the front: ${front.map((method) => method.name).join(", ")}`,
    x: { name: "seconds of training (logarithmic)", low: marks[0], high: last(marks), ...scale },
    y: axis(measure, shown.map((method) => method.y)),
    right: 24,
  });
  const { root, px, py } = chart;
  let steps = "";
  front.forEach((method, i) => (steps += i ? `H${px(method.x)}V${py(method.y)}` : `M${px(method.x)},${py(method.y)}`));
  root.append(svg("path", { class: "front", d: `${steps}H${chart.width - chart.right}` }));
  const labeled = [];
  const ordered = [...shown].sort((one, other) => (styleOf(one.name) ? 1 : 0) - (styleOf(other.name) ? 1 : 0));
  for (const method of ordered) {
    const style = styleOf(method.name);
    const group = svg("g", { class: style ? `series ${style.color}` : "series other" });
    const dot = marker(style?.shape ?? 0, px(method.x), py(method.y), style ? 6 : 4);
    dot.setAttribute("data-tip", `${method.name}: ${four(method.y)} in ${time(method.seconds)}`);
    group.append(dot);
    root.append(group);
    if (style || front.includes(method)) labeled.push(method);
  }
  labels(root, chart, labeled, shown);
  return [root, legend(shown)];
}

// Names next to their points, where they cover neither a point nor another name; otherwise only in the tip.
function labels(root, { px, py, width, left, right }, labeled, points) {
  const taken = points.map(({ x, y }) => ({ l: px(x) - 6, r: px(x) + 6, t: py(y) - 6, b: py(y) + 6 }));
  for (const { name, x, y } of labeled) {
    const [a, b, w] = [px(x), py(y), wide(name)];
    const places = [
      { x: a + 10, y: b + 4, anchor: "start", l: a + 9 },
      { x: a - 10, y: b + 4, anchor: "end", l: a - 9 - w },
      { x: a, y: b - 11, anchor: "middle", l: a - w / 2 },
      { x: a, y: b + 20, anchor: "middle", l: a - w / 2 },
    ].map((place) => ({ ...place, r: place.l + w, t: place.y - 10, b: place.y + 3 }));
    const apart = (one) => (other) => one.r < other.l || one.l > other.r || one.b < other.t || one.t > other.b;
    const free = places.find((place) => place.l > left && place.r < width - right && taken.every(apart(place)));
    if (!free) continue;
    taken.push(free);
    root.append(svg("text", { class: "name ink", x: free.x, y: free.y, "text-anchor": free.anchor }, name));
  }
}
