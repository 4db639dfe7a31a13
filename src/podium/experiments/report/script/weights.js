// Features by weight: bars of the mean over folds, whiskers over the folds' range.
let weightsControl = null;
function weights(box) {
  const known = methods.filter((method) => method.weights).map(({ name }) => [name, name]);
  weightsControl ??= html("div", { class: "controls" }, choice("Method", "weights", known));
  const method = methods[numberOf.get(state.weights)];
  const { of, linear } = method.weights;
  const shown = Math.min(method.weights.features.length, 25);
  const note = linear
    ? "Weights refer to the features as the model receives them: after rescaling within a query, if any."
    : "Importance says how much a feature was used, not in which direction.";
  const numbered = data.features ? "" : " Features without names are numbered from 1, as in LETOR files.";
  return [
    weightsControl,
    shown ? bars(box, method, shown) : html("p", {}, "All weights are zero."),
    html("p", { class: "soft" }, `${shown} of ${many(of, "feature", "features")} with a weight. ${note}${numbered}`),
  ];
}

function bars(box, method, shown) {
  const keys = ["features", "mean", "low", "high"];
  const [features, mean, low, high] = keys.map((key) => method.weights[key].slice(0, shown));
  const names = features.map(featureName);
  const line = 20;
  const left = Math.min(20 + Math.max(...names.map(wide)), box.clientWidth * 0.4);
  const unit = method.weights.linear ? "share of the sum of absolute weights" : "share of the importance";
  const first = names.slice(0, 5).map((name, i) => `${name} ${mean[i].toFixed(3)}`);
  const chart = frame({
    box,
    height: line * shown + 66,
    label: `${method.name}: ${first.join(", ")}${shown > 5 ? " and others" : ""}`,
    x: axis(unit, [0, ...low, ...high], { grid: true }),
    y: { name: "", low: 0, high: 1, ticks: [] },
    left,
  });
  const { root, px, top } = chart;
  names.forEach((name, i) => {
    const y = top + line * (i + 0.5);
    const tip = `${name}: ${mean[i].toFixed(4)}, folds ${low[i].toFixed(4)} to ${high[i].toFixed(4)}`;
    const group = svg("g", { class: mean[i] < 0 ? "bar minus" : "bar plus", "data-tip": tip });
    const [from, to] = [px(Math.min(0, mean[i])), px(Math.max(0, mean[i]))];
    group.append(svg("rect", { x: from, y: y - 7, width: Math.max(1, to - from), height: 14 }));
    group.append(svg("line", { x1: px(low[i]), x2: px(high[i]), y1: y, y2: y }));
    const short = fitted(name, left - 14);
    group.append(svg("text", { class: "name ink", x: left - 10, y: y + 4, "text-anchor": "end" }, short));
    root.append(group);
  });
  return root;
}
