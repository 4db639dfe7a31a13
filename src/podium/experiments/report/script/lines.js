// Lines over cutoffs and over iterations: highlighted methods in color and with names, the others in gray.
function lineChart(box, series, { label, x, y }) {
  const roomy = box.clientWidth > 560;
  const lit = series.filter((line) => styleOf(line.name) || series.length < 4);
  const longest = Math.max(0, ...lit.map((line) => wide(line.name)));
  const right = roomy ? Math.min(24 + longest, box.clientWidth / 3) : 16;
  const chart = frame({ box, height: roomy ? 400 : 320, label, x, y, right });
  const { root, px, py } = chart;
  const ends = spread(lit.map((line) => py(last(line.points)[1])), 17, chart.top + 4, chart.height - chart.bottom);
  for (const line of [...series.filter((other) => !lit.includes(other)), ...lit]) {
    const style = styleOf(line.name);
    const group = svg("g", { class: style ? `series ${style.color}` : "series other" });
    const path = line.points.map(([a, b]) => `${px(a).toFixed(1)},${py(b).toFixed(1)}`).join(" ");
    group.append(svg("polyline", { class: style?.dashed ? "dashed" : null, points: path }));
    group.append(svg("polyline", { class: "hit", points: path, "data-tip": line.tip ?? line.name }));
    for (const [a, b, tip] of line.points) {
      if (tip === undefined) continue;
      const dot = style ? marker(style.shape, px(a), py(b), 4) : marker(0, px(a), py(b), 2.5);
      dot.setAttribute("data-tip", tip);
      group.append(dot);
    }
    const place = lit.indexOf(line);
    if (place >= 0 && roomy) {
      const [x1, y1] = last(line.points);
      const edge = chart.width - chart.right;
      group.append(svg("line", { class: "leader", x1: px(x1) + 5, y1: py(y1), x2: edge + 16, y2: ends[place] }));
      const name = fitted(line.name, chart.right - 20);
      group.append(svg("text", { class: "name", x: edge + 20, y: ends[place] + 4 }, name));
    }
    root.append(group);
  }
  return root;
}

function curves(box) {
  const series = [...methods, ...data.published]
    .filter((method) => method.curve?.every((value) => value !== null))
    .map(({ name, curve }) => {
      const points = curve.map((value, i) => [i + 1, value, `${name}: NDCG@${i + 1} ${four(value)}`]);
      return { name, points };
    });
  const cutoffs = series[0]?.points.map(([k]) => k) ?? [];
  // Chance would stretch the scale so much that the others become one line: it is drawn only if highlighted.
  const shown = series.filter(({ name }) => name !== "random" || styleOf(name));
  const chart = lineChart(box, shown, {
    label: `NDCG@k (${data.convention}) against k for ${many(shown.length, "method", "methods")}`,
    x: { name: "cutoff k", low: 1, high: cutoffs.length, ticks: cutoffs },
    y: axis(`NDCG@k (${data.convention})`, shown.flatMap(({ points }) => points.map(([, v]) => v))),
  });
  return [chart, legend(series)];
}

// Methods train for different times: a fold that has ended keeps its last value in the mean.
function meanHistory(folds) {
  const places = [...new Set(folds.flatMap((fold) => fold.at))].sort((i, j) => i - j);
  const at = (fold, i) => fold.values[fold.at.findLastIndex((place) => place <= i)];
  return places.map((i) => [i, folds.reduce((sum, fold) => sum + at(fold, i), 0) / folds.length]);
}

let foldControl = null;
function training(box) {
  const trained = methods.filter((method) => method.history);
  const folds = [["", "mean of folds"], ...data.folds.map((name, i) => [String(i), name])];
  if (data.folds.length > 1) foldControl ??= html("div", { class: "controls" }, choice("Fold", "fold", folds));
  const charts = [...new Set(trained.map((method) => method.history.unit))].map((unit) => {
    const series = trained.filter((method) => method.history.unit === unit).map(historyOf).filter(Boolean);
    return series.length ? historyChart(box, series, unit) : null;
  });
  return [foldControl, ...charts, legend(trained)];
}

function historyOf({ name, history }) {
  const folds = history.folds.filter((fold) => state.fold === "" || fold.fold === Number(state.fold));
  if (!folds.length) return null;
  const points = meanHistory(folds);
  const { kept } = folds[0];
  const marked = folds.length === 1 && kept ? (points.findLast(([i]) => i <= kept) ?? points[0]) : last(points);
  const [place, value] = marked;
  const after = marked === last(points) ? place : kept;
  marked.push(`${name}: ${four(value)} after ${after} ${history.unit}`);
  return { name, points };
}

function historyChart(box, series, unit) {
  const end = Math.max(2, ...series.map(({ points }) => last(points)[0]));
  const log = end > 60;
  const marks = (log ? logTicks(1, end) : ticks(0, end)).filter((tick) => tick <= end);
  return lineChart(box, series, {
    label: `${measure} on validation against ${unit}`,
    x: { name: log ? `${unit} (logarithmic)` : unit, low: log ? 1 : 0, high: end, ticks: marks, log },
    y: axis(`validation ${measure}`, series.flatMap(({ points }) => points.map(([, value]) => value))),
  });
}
